import type { RepairLevel } from '../values/outcome.ts'

/** What was found in one assistant message. */
export interface Payload {
  readonly value: unknown
  readonly repair_level: RepairLevel
}

// TEMPORARY until the values floor lands: fences and whole documents only.
export function payloads(text: string): Payload[] {
  const found: Payload[] = []
  const whole = tryJson(text)
  if (whole !== undefined) return [{ value: whole, repair_level: 'none' }]
  for (const match of text.matchAll(/```json\n([\s\S]*?)\n```|<json>([\s\S]*?)<\/json>/g)) {
    const value = tryJson(match[1] ?? match[2] ?? '')
    if (value !== undefined) found.push({ value, repair_level: 'deterministic_generic' })
  }
  return found
}

function tryJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
