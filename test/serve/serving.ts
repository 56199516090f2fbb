import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { serve } from '../../src/serve/serve.ts'
import type { RunServer, ServeOptions } from '../../src/serve/serve-options.ts'
import { makeEvent } from '../disk/make-event.ts'

const open: RunServer[] = []

export function root(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'sluice-serve-test-')))
}

/** A server that `shutAll` ends. */
export async function serving(dir: string, options: Partial<ServeOptions> = {}): Promise<RunServer> {
  const served = await serve({ dir, port: 0, ...options })
  open.push(served)
  return served
}

export async function shutAll(): Promise<void> {
  await Promise.all(open.splice(0).map((served) => served.close()))
}

/** A finished run of so many events, as a recorder leaves it. */
export function putRun(
  dir: string,
  name: string,
  count: number,
  more: { run?: string; attempts?: number } = {},
): string {
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  const lines: string[] = []
  for (let attempt = 1; attempt <= (more.attempts ?? 1); attempt++) {
    for (let seq = 1; seq <= count; seq++)
      lines.push(`${JSON.stringify(makeEvent(seq, { run: more.run ?? name, attempt }))}\n`)
    writeFileSync(join(path, `stdout.${attempt}.log`), 'x'.repeat(count * 10 + 10))
  }
  writeFileSync(join(path, 'events.jsonl'), lines.join(''))
  return path
}

export function parseSse(text: string): EventSourceMessage[] {
  const messages: EventSourceMessage[] = []
  createParser({ onEvent: (message) => void messages.push(message) }).feed(text)
  return messages
}

/** A request with headers that fetch would not send, and the whole answer. */
export function ask(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
      response.on('error', reject)
    }).on('error', reject)
  })
}
