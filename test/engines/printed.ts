import { readFileSync } from 'node:fs'

/** What a run told: an independent reading, which uses no engine. */
export interface Told {
  readonly texts: readonly string[]
  readonly thoughts: readonly string[]
  /** `ok`, `failed` or `open`, in the order the calls began. */
  readonly tools: readonly string[]
  readonly end: 'ended' | 'failed' | 'unknown'
  readonly session: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: records of other programs, read by hand
type Line = any

/** Reads what a CLI printed (`same-run.stdout.log`). */
export function printed(engine: string, file: string): Told {
  const texts: string[] = []
  const thoughts: string[] = []
  const tools = new Map<string, string>()
  let end: Told['end'] = 'unknown'
  let session: string | undefined
  const read: Record<string, (line: Line) => void> = {
    codex(line) {
      const { item, type } = line
      if (type === 'thread.started') session = line.thread_id
      if (type === 'turn.completed') end = 'ended'
      if (type === 'turn.failed') end = 'failed'
      if (!item) return
      const done = type === 'item.completed'
      if (done && item.type === 'agent_message') texts.push(item.text)
      if (done && item.type === 'reasoning') thoughts.push(item.text)
      if (item.type === 'command_execution' || item.type === 'file_change')
        tools.set(item.id, !done ? 'open' : item.status === 'completed' ? 'ok' : 'failed')
    },
  }
  for (const line of records(file)) read[engine]!(line)
  return { texts, thoughts, tools: [...tools.values()], end, session }
}

/** The JSON lines of a file; other lines are left out. */
export function records(file: string): Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
}
