import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { auto } from '../../src/engines/auto.ts'
import { engines, sessions } from '../../src/engines/engines-by-name.ts'
import { type AgentEvent, isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { slow } from '../pace.ts'
import { eventsOf, type Fixture, fixtures, inPieces } from './fixture.ts'
import { endOf, lines, only, run, texts } from './run.ts'

const files = fixtures().filter(({ engine }) => engine in sessions)
const paired = files.filter(({ path }) => existsSync(join(path, 'same-run.stdout.log')))

/** Where a session file tells other things than the stdout of the same run, and why. */
const differences: Record<string, Partial<Told>> = {
  // A failed turn ends like any other in this version.
  'codex/0.142.3-http_500': { end: 'unknown' },
  // The file of this version tells no end.
  'codex/0.74.0-file_edit': { end: 'unknown' },
  // stdout stops at the signal; the file tells what became of the call and the turn.
  'codex/0.166.0-sigint_tool': { tools: ['failed'], end: 'failed' },
  // Only stdout has the error as an answer.
  'qwen/0.24.4-http_500': { texts: [] },
  // stdout has no thoughts, and calls before they are over.
  'gemini/0.40.1-reasoning': {
    thoughts: ['The user wants an answer,', 'maybe <json>{"decoy":true}</json> "__SKILL_DONE__": true.'],
  },
  'gemini/0.40.1-sigint_tool': { tools: [] },
  // The turn that failed is taken out of the file.
  'gemini/0.61.0-cut_mid': { texts: [] },
  // stdout prints neither a text that was broken off nor a call that runs.
  'opencode/1.18.34-cut_mid': { texts: ['This text is cut in the mid'] },
  'opencode/1.18.34-sigkill_tool': { tools: ['open'] },
  // The file tells what became of the call.
  'cline/3.0.65-sigint_tool': { tools: ['failed'] },
}

/** Files that tell no end of a turn that went well. */
const endless = new Set(['qwen', 'gemini', 'copilot', 'cline'])
/** Files that tell no failure either. */
const harmless = new Set(['qwen', 'gemini'])
/** The id of this file is not on stdout. */
const otherId = new Set(['cline'])

describe('a session file tells what stdout of the same run tells', () => {
  test.each(paired.map((fixture) => [`${engineOf(fixture)}/${fixture.name}`, fixture] as const))(
    '%s',
    (name, fixture) => {
      const engine = engineOf(fixture)
      const bytes = readFileSync(join(fixture.path, 'same-run.stdout.log'))
      const profile = engines[engine as keyof typeof engines]
      const stdout = told(drive(eventStage(profile), [{ channel: 'stdout', bytes }]))
      const stored = told(lastTurn(eventsOf(fixture, inPieces(fixture))))
      const untold = (stdout.end === 'ended' && endless.has(engine)) || harmless.has(engine)
      const expected = { ...stdout, ...(untold && { end: 'unknown' }), ...differences[name] }
      if (otherId.has(engine)) expected.session = stored.session
      expect(stored).toEqual(expected)
    },
  )
})

test.each([
  { type: 'summary', summary: 's', leafUuid: 'u' },
  { type: 'file-history-snapshot', messageId: 'm', snapshot: {}, isSnapshotUpdate: false },
  { type: 'queue-operation', operation: 'enqueue', sessionId: 's' },
  { type: 'permission-mode', permissionMode: 'default', sessionId: 's' },
  { type: 'system', subtype: 'x', sessionId: 's', uuid: 'u', parentUuid: null, isSidechain: false },
])('auto knows a file of Claude Code that begins with $type', (first) => {
  const events = run(auto, { stdout: lines(first) })
  expect(events.at(-1)!.source.parser).toBe('claude_session')
  expect(texts(events)).toEqual([])
  expect(endOf(events).state).toBe('unknown')
})

describe('a session file that is not as its engine left it', () => {
  const profileOf = ({ engine }: Fixture) => sessions[engine as keyof typeof sessions]
  const bytesOf = ({ logs }: Fixture) => logs[0]!.bytes
  const read = (fixture: Fixture, stdout: Uint8Array | string): readonly AgentEvent[] =>
    drive(eventStage(profileOf(fixture), { clock: () => 0 }), [
      { channel: 'stdout', bytes: Buffer.from(stdout as string) },
    ])
  const isGood = (events: readonly AgentEvent[]) =>
    ['completed', 'awaiting_user_input'].includes(endOf(events).state)
  /** What was said and done, without what is told about lines. */
  const said = (events: readonly AgentEvent[]) =>
    events.flatMap(({ type, data }) => (/^(agent|tool)\./.test(type) ? [[type, data]] : []))

  test.runIf(slow)('ends no better, and says nothing more, when it is cut anywhere', () => {
    for (const fixture of files) {
      const bytes = Buffer.from(bytesOf(fixture))
      const whole = JSON.stringify(texts(read(fixture, bytes)))
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
        const line = bytes.indexOf(10, at + 1)
        if (line < 0) break
        const cut = read(fixture, bytes.subarray(0, at + 1 + ((line - at) >> 1)))
        // A line that is not whole tells nothing: it ends as well as it did before that line, or worse.
        if (isGood(cut)) expect(isGood(read(fixture, bytes.subarray(0, at + 1)))).toBe(true)
        for (const text of texts(cut)) expect(whole).toContain(JSON.stringify(text))
      }
    }
  })

  test('tells the same with the line ends of Windows', () => {
    for (const fixture of files) {
      const text = Buffer.from(bytesOf(fixture)).toString()
      const events = read(fixture, text.replaceAll('\n', '\r\n'))
      expect(said(events)).toEqual(said(read(fixture, text)))
      expect(endOf(events).state).toBe(endOf(read(fixture, text)).state)
    }
  })

  test('takes no word from the lines of another engine', () => {
    const first = new Map(files.map((fixture) => [fixture.engine, fixture]))
    for (const fixture of first.values()) {
      const mine = Buffer.from(bytesOf(fixture)).toString()
      // One document on many lines has no place for others.
      if (!mine.includes('\n{')) continue
      const expected = said(read(fixture, mine))
      for (const other of first.values()) {
        if (other === fixture) continue
        const events = read(fixture, `${mine}${Buffer.from(bytesOf(other))}\n`)
        expect([fixture.name, other.name, said(events)]).toEqual([fixture.name, other.name, expected])
        if (!isGood(read(fixture, mine))) expect(isGood(events)).toBe(false)
      }
    }
  })
})

function engineOf({ engine }: { readonly engine: string }): string {
  return engine.slice(0, -'-session'.length)
}

/** The file of a resumed session has the turns before, too. */
function lastTurn(events: readonly AgentEvent[]): readonly AgentEvent[] {
  const begun = events.findLastIndex(
    (event) => isEvent(event, 'lifecycle.run.status') && event.data.status === 'turn_started',
  )
  return events.slice(Math.max(begun, 0))
}

type Told = ReturnType<typeof told>

function told(events: readonly AgentEvent[]) {
  const tools = new Map(only(events, 'tool.call.started').map(({ data }) => [data.call_id, 'open']))
  for (const { type, data } of only(events, 'tool.call.completed', 'tool.call.failed'))
    tools.set(data.call_id, type === 'tool.call.completed' ? 'ok' : 'failed')
  const { state } = endOf(events)
  return {
    texts: texts(events),
    thoughts: only(events, 'agent.reasoning.summary').map(({ data }) => data.text),
    tools: [...tools.values()],
    end: state === 'unknown' ? 'unknown' : state === 'interrupted' ? 'failed' : 'ended',
    session: events.at(-1)!.correlation.session_id,
  }
}
