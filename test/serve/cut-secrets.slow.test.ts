import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { listAttempts } from '../../src/run/attempt-logs.ts'
import { replay } from '../../src/run/replay.ts'
import { exportSource, logsOf } from '../../src/serve/export.ts'
import type { EmbeddedData } from '../../src/serve/page/embedded.ts'
import { hidingOf } from '../../src/serve/redact-served.ts'
import { hidePieces } from '../../src/views/redact/pieces.ts'
import { quietPieces, SECRET, seenIn, streamedRuns, wholeRecords } from './cut-secrets.ts'
import { ask, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

const runs = streamedRuns()
/** As a terminal has it. */
const onTerminal = (log: Buffer) => Buffer.from(log.toString('latin1').replaceAll('\n', '\r\n'), 'latin1')

test('there are runs of every engine that streams', () => {
  const streaming = new Set(runs.map(({ fixture }) => fixture.engine))
  expect([...streaming].sort()).toEqual(
    ['acp', 'claude', 'cline', 'codex', 'copilot', 'cursor', 'gemini', 'pi', 'qwen'].filter(
      (name) => name in engines,
    ),
  )
  for (const { planted } of runs) expect(seenIn(planted(20).toString()).length).toBeGreaterThan(0)
})

describe.each(runs)('$name', ({ fixture, planted }) => {
  test('no event has a part of a secret, wherever the engine cut it', () => {
    const { event } = hidingOf(true)!
    for (let cut = 1; cut < SECRET.length; cut += 3) {
      const log = planted(cut)
      const stage = eventStage(engines[fixture.engine], { runId: 'r', clock: () => 0 })
      const events = drive(stage, [{ channel: 'stdout', bytes: log }, fixture.exit])
      expect([cut, seenIn(JSON.stringify(events.map(event)))]).toEqual([cut, []])
      const raw = drive(eventStage(engines.text, { runId: 'r', clock: () => 0 }), [
        { channel: 'stderr', bytes: log },
        { channel: 'pty', bytes: onTerminal(log) },
      ])
      expect([cut, seenIn(JSON.stringify(raw.map(event)))]).toEqual([cut, []])
    }
  })
})

/** The secret in pieces of so many characters, as records, with all of it so far in each. */
function piecesOf(size: number, record: (piece: string, soFar: string) => object): string {
  const text = `It is ${SECRET} as you said.`
  let log = ''
  for (let at = 0; at < text.length; at += size)
    log += `${JSON.stringify(record(text.slice(at, at + size), text.slice(0, at + size)))}\n`
  return log
}

describe.each(Object.entries(quietPieces))('%s', (_, record) => {
  test('pieces that are no message are hidden in raw lines', () => {
    const { event } = hidingOf(true)!
    for (const size of [4, 5, 9, 14, 23, 31]) {
      const log = Buffer.from(piecesOf(size, record))
      for (const engine of [auto, engines.text])
        for (const channel of ['stdout', 'stderr', 'pty'] as const) {
          const events = drive(eventStage(engine, { runId: 'r', clock: () => 0 }), [{ channel, bytes: log }])
          const raw = events.filter(({ type }) => type.startsWith('raw.')).map(event)
          expect([size, channel, seenIn(JSON.stringify(raw))]).toEqual([size, channel, []])
        }
    }
  })
})

/** What a command prints, in the record of an agent that has run it. */
const printed = (output: string) => ({
  type: 'item.completed',
  item: {
    id: 'item_1',
    type: 'command_execution',
    command: 'agent',
    aggregated_output: output,
    exit_code: 0,
    status: 'completed',
  },
})

test.each(Object.entries(quietPieces))('%s of an agent that a tool has called', (_, record) => {
  const { event } = hidingOf(true)!
  for (const size of [5, 14, 23]) {
    const inner = `Starting.\n${piecesOf(size, record)}`
    for (const output of [inner, `${JSON.stringify(printed(inner))}\n`]) {
      const log = Buffer.from(`${JSON.stringify(printed(output))}\n`)
      const raw = hidePieces(log.toString().trimEnd())
      expect([size, seenIn(raw)]).toEqual([size, []])
      expect(raw).toContain('command_execution')
      const stage = eventStage(engines.codex, { runId: 'r', clock: () => 0 })
      const events = drive(stage, [{ channel: 'stdout', bytes: log }]).map(event)
      expect([size, seenIn(JSON.stringify(events))]).toEqual([size, []])
      expect(events.map(({ type }) => type)).toContain('tool.call.completed')
    }
  }
})

test.each(Object.entries(wholeRecords))('%s stays as it is', (_, record) => {
  const line = JSON.stringify(record)
  expect(hidePieces(line)).toBe(line)
})

test('a record with too many members to be judged goes', () => {
  const line = JSON.stringify({ many: Array(5000).fill(0), event: { delta: 'a secret' } })
  expect(hidePieces(line)).not.toContain('secret')
})

/** A run in a directory: its logs, with the journal that a recorder leaves or without. */
function putRun(
  dir: string,
  name: string,
  log: Buffer,
  journal: boolean,
  fixture: (typeof runs)[number]['fixture'],
) {
  const path = join(dir, name)
  mkdirSync(path)
  for (const [file, bytes] of [
    ['stdout.log', log],
    ['pty-output.log', onTerminal(log)],
  ] as const) {
    writeFileSync(join(path, file), bytes)
    utimesSync(join(path, file), 1000, 1000)
  }
  if (!journal) return
  const stage = eventStage(engines[fixture.engine], { runId: 'r', clock: () => 0 })
  const events = drive(stage, [{ channel: 'stdout', bytes: log }, fixture.exit])
  writeFileSync(join(path, 'events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
}

test('with redact, nothing that is sent has a part of it: any route, with and without a journal', async () => {
  const dir = root()
  const names: string[] = []
  const seen = new Set<string>()
  for (const { fixture, planted } of runs) {
    if (seen.has(fixture.engine)) continue
    seen.add(fixture.engine)
    for (const journal of [true, false]) {
      const name = `${fixture.engine}-${journal}`
      putRun(dir, name, planted(19), journal, fixture)
      names.push(name)
    }
  }
  const { url } = await serving(dir, { redact: true })
  for (const name of names) {
    const log = readFileSync(join(dir, name, 'stdout.log'))
    for (const part of ['events', 'chat', 'ag-ui', 'ai-sdk', 'export.html', 'export.md']) {
      const { status, text } = await ask(`${url}runs/${name}/${part}`)
      expect([name, part, status, seenIn(text)]).toEqual([name, part, 200, []])
      expect([name, part, text.includes('[redacted:github]')]).toEqual([name, part, true])
    }
    for (const part of ['raw/stdout', 'raw/pty', 'raw/stderr', 'raw/stdout?from=0&to=997']) {
      const { status, text } = await ask(`${url}runs/${name}/${part}`)
      expect([name, part, status, seenIn(text)]).toEqual([name, part, 403, []])
    }
    expect(readFileSync(join(dir, name, 'stdout.log')).equals(log)).toBe(true)
  }
})

test('an export has no part of it, and no raw log', async () => {
  const dir = root()
  for (const { fixture, planted, name } of runs) {
    const folder = name.replace('/', '-')
    putRun(dir, folder, planted(23), false, fixture)
    const attempts = listAttempts(join(dir, folder))
    const source = { name, events: () => replay(join(dir, folder)), attempts, logs: logsOf(attempts) }
    for (const to of ['md', 'html', 'json'] as const) {
      let text = ''
      for await (const piece of exportSource(source, { to, redact: true }).text) text += piece
      expect([name, to, seenIn(text)]).toEqual([name, to, []])
      if (to === 'md') continue
      const json = text.slice(text.indexOf('{"version":1'))
      const data: EmbeddedData = JSON.parse(
        to === 'json' ? json : json.slice(0, json.lastIndexOf('</script>\n<script>')),
      )
      expect([name, to, data.runs[0]!.streams, data.runs[0]!.info.raw_hidden]).toEqual([name, to, [], true])
    }
  }
})
