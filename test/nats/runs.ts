import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { AgentEvent } from '../../src/events/event.ts'

/** An event that says little; `pad` makes it larger. */
export function eventAt(run: string, attempt: number, seq: number, pad = 0): AgentEvent {
  return {
    protocol_version: 'rasp/1.0',
    type: 'raw.stdout',
    run_id: run,
    seq,
    ts: '2026-01-01T00:00:00.000Z',
    source: { engine: 'text', parser: 'text', confidence: 0.5 },
    event: { category: 'raw', type: 'raw.stdout' },
    data: { line: `line ${seq} é ${'x'.repeat(pad)}` },
    correlation: { event_id: `${run}:${attempt}:stdout:${seq}` },
    attempt_number: attempt,
    raw_ref: null,
  } as unknown as AgentEvent
}

export function lineAt(run: string, attempt: number, seq: number, pad = 0): string {
  return `${JSON.stringify(eventAt(run, attempt, seq, pad))}\n`
}

/** Writes a journal of so many events. */
export function writeRun(
  dir: string,
  run: string,
  events: number,
  { attempt = 1, pad = 0, from = 1 } = {},
): void {
  mkdirSync(dir, { recursive: true })
  const lines = Array.from({ length: events }, (_, n) => lineAt(run, attempt, from + n, pad))
  const path = join(dir, 'events.jsonl')
  if (from === 1 && attempt === 1) writeFileSync(path, lines.join(''))
  else appendFileSync(path, lines.join(''))
}

/** All journals under a directory, by path. */
export function journalsIn(dir: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const path of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('events.jsonl')) found[relative('.', path)] = readFileSync(join(dir, path), 'utf8')
  }
  return found
}
