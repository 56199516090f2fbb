import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalOptions } from '../../src/disk/journal.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { plainJs } from './plain-js.ts'

/**
 * How a writer dies: at its nth call of the file system, after a part of the bytes of a write; or so long
 * after its first word.
 */
export type Death = { readonly call: number; readonly part: number } | { readonly ms: number }

export interface Wrote {
  readonly signal: string | null
  /** The events it had let pass, in order. */
  readonly acknowledged: readonly string[]
  /** Calls of the file system, if it came to its end. */
  readonly calls: number | undefined
}

/** Writers of a journal that really are processes and really are killed. */
export function writers() {
  const plain = plainJs('test/disk/make-event.ts', 'test/faults/journal-writer.ts')
  return {
    /** Where the translated sources are. */
    plain,
    remove: () => rmSync(plain, { recursive: true }),
    /** Feeds the events to a journal in the directory, in a process of its own. */
    async write(
      dir: string,
      events: readonly AgentEvent[],
      death?: Death,
      fsync: JournalOptions['fsync'] = 'each',
    ): Promise<Wrote> {
      const file = `${dir}.feed`
      writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
      const { call, part } = death && 'call' in death ? death : { call: 0, part: 0 }
      const script = join(plain, 'test/faults/journal-writer.js')
      const child = spawn(process.execPath, [script, dir, file, `${call}`, `${part}`, fsync])
      let said = ''
      let wrong = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text
      })
      child.stderr.setEncoding('utf8').on('data', (text) => {
        wrong += text
      })
      const closed = once(child, 'close')
      let timer: NodeJS.Timeout | undefined
      if (death && 'ms' in death) {
        await Promise.race([once(child.stdout, 'data'), closed])
        timer = setTimeout(() => child.kill('SIGKILL'), death.ms)
      }
      const [, signal] = await closed
      clearTimeout(timer)
      rmSync(file)
      if (wrong !== '') throw new Error(`the writer failed: ${wrong}`)
      // The last word may be torn by the kill; it was then not heard.
      const words = said.split('\n').slice(0, -1)
      const calls = /^calls (\d+)$/.exec(words.at(-1) ?? '')?.[1]
      return {
        signal,
        acknowledged: calls === undefined ? words : words.slice(0, -1),
        calls: calls === undefined ? undefined : Number(calls),
      }
    },
  }
}

/**
 * What is wrong with a journal before it is repaired: its whole lines must be the first of the events, with
 * all that were acknowledged, and after them there may be no more than the beginning of the next.
 */
export function tornFault(
  dir: string,
  events: readonly AgentEvent[],
  acknowledged: readonly string[],
): string | undefined {
  const path = join(dir, 'events.jsonl')
  // Bytes: a character may be torn, too.
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  const whole = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  if (!whole.subarray(0, bytes.length).equals(bytes)) return 'the journal is not a prefix of what was written'
  const kept = bytes.toString().split('\n').length - 1
  const ids = events.map((event) => event.correlation.event_id)
  if (acknowledged.some((id, i) => id !== ids[i])) return 'it acknowledged in another order'
  if (kept < acknowledged.length)
    return `${acknowledged.length} events were acknowledged, but ${kept} are kept`
  return undefined
}

/** What is wrong with a journal after a resume that came to its end. */
export function resumedFault(dir: string, events: readonly AgentEvent[]): string | undefined {
  const lines = (some: readonly AgentEvent[]) => some.map((event) => `${JSON.stringify(event)}\n`).join('')
  const text = (name: string) => readFileSync(join(dir, name), 'utf8')
  if (text('events.jsonl') !== lines(events)) return 'events.jsonl does not hold each event once, in order'
  const diagnostics = events.filter(({ event }) => event.category === 'diagnostic')
  if (text('parser_diagnostics.jsonl') !== lines(diagnostics))
    return 'parser_diagnostics.jsonl does not hold each diagnostic once, in order'
  if (existsSync(join(dir, 'journal.lock'))) return 'the lock is still there'
  return undefined
}
