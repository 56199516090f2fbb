import fc from 'fast-check'
import { Fault } from '../../src/base/fault.ts'
import { acp } from '../../src/engines/acp/acp.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { wireOf } from '../../src/engines/programs.ts'
import { qwen } from '../../src/engines/qwen.ts'
import { type AgentEvent, type AgentRequest, isEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { Talk } from '../../src/run/talk.ts'
import { fixtures } from '../../test/engines/fixture.ts'
import { validEvents } from '../../test/engines/valid.ts'
import { recordedLines, spoiled } from './spoiled.ts'

const wired = [
  { engine: acp, argv: ['agent', '--acp'], from: /^acp$/ },
  { engine: codex, argv: ['codex', 'app-server'], from: /^codex$/ },
  { engine: claude, argv: ['claude', '--input-format', 'stream-json'], from: /^claude$/ },
  { engine: qwen, argv: ['qwen', '--input-format', 'stream-json'], from: /^qwen$/ },
]
const isSpoken = (line: string) => /"jsonrpc"|"control_re|"method"|"type":"(result|system)"/.test(line)

/** What agents wrote that were talked with, from the first record on, and single records of it. */
const conversations = wired.map(({ from }) => ({
  whole: fixtures()
    .filter(({ engine, logs }) => from.test(engine) && logs.some(({ channel }) => channel === 'stdin'))
    .map(({ logs }) => logs.find(({ channel }) => channel === 'stdout')!)
    .map(({ bytes }) => Buffer.from(bytes).toString('latin1').split('\n').slice(0, 200)),
  lines: recordedLines('stdout', from).filter(isSpoken),
}))

/** A client that is asked may choose, dismiss, or say nothing. */
type Choice = 'first' | 'last' | 'cancel' | 'none' | 'nonsense'

const talked = fc.nat(wired.length - 1).chain((index) => {
  const { whole, lines } = conversations[index]!
  const start = whole.length > 0 ? fc.constantFrom(...whole) : fc.constant<string[]>([])
  return fc.record({
    wire: fc.constant(wired[index]!),
    start,
    keep: fc.double({ min: 0, max: 1, noNaN: true }),
    drop: fc.array(fc.nat(200), { maxLength: 2 }),
    spoilt: fc.array(fc.tuple(fc.nat(60), spoiled(lines)), { maxLength: 8 }),
    choices: fc.array(fc.constantFrom<Choice>('first', 'last', 'cancel', 'none', 'nonsense'), {
      minLength: 1,
      maxLength: 4,
    }),
    interrupt: fc.constantFrom(-1, -1, -1, 3, 20),
  })
})

/**
 * An agent that is talked with and lies: every event is valid, nothing throws but a Fault, a request is
 * answered once at most, and no option is ever sent that was not chosen, or that the request does not have.
 */
export const wires = fc.property(talked, ({ wire, start, keep, drop, spoilt, choices, interrupt }) => {
  const records = start.slice(0, Math.ceil(keep * start.length)).filter((_, i) => !drop.includes(i))
  for (const [at, line] of spoilt) records.splice(Math.min(at, records.length), 0, line)
  const chosen = new Map<string, AgentRequest['options'][number]>()
  const asked = new Map<string, AgentRequest>()
  const sent: string[] = []
  const events: AgentEvent[] = []
  let ends = 0
  const unread: Buffer[] = []
  const talk = new Talk({
    ...{ wire: wireOf(wire.engine)!, cwd: '/w', argv: wire.argv, session: undefined, prompt: 'Go.' },
    ...{ answerIn: 60_000, killGrace: 60_000, endAfter: 60_000, unread: () => 0 },
    process: () => ({
      send: (bytes: Buffer) => {
        unread.push(bytes)
        return sent.push(bytes.toString()) > 0
      },
      closeInput() {},
      stop: () => void ends++,
      note() {},
    }),
  })
  const stage = eventStage(talk.listen(wire.engine), { wire: true, maxFrame: 100_000, clock: () => 0 })({
    write(event) {
      talk.event(event)
      events.push(event)
      if (!isEvent(event, 'lifecycle.run.status') || !event.data.request) return
      asked.set(event.data.request.id, event.data.request)
    },
    end() {},
  })
  try {
    talk.begin()
    records.forEach((record, turn) => {
      for (const bytes of unread.splice(0)) stage.write({ channel: 'stdin', bytes })
      stage.write({ channel: 'stdout', bytes: Buffer.from(`${record}\n`, 'latin1') })
      if (turn === interrupt) talk.interrupt()
      const open = [...asked.values()].filter(({ id }) => talk.stateOf(id) === 'open')
      for (const [i, request] of open.entries()) choose(request, choices[(turn + i) % choices.length]!)
    })
    stage.write({ channel: 'exit', code: 0, signal: null })
    stage.end()
  } finally {
    talk.exited()
    talk.end()
  }
  validEvents(events)
  if (ends > 2) throw new Error(`the process was ended ${ends} times`)
  const allowed = sent.filter((line) =>
    /"(optionId|decision|behavior)"\s*:\s*"(allow|proceed|accept|approved)/.test(line),
  )
  // A spoiled option may have lost its kind: then its id says what the choice of it allows.
  const meant = [...chosen.values()].filter(
    ({ id, kind }) => kind.startsWith('allow') || /^(allow|proceed|accept|approved)/.test(id),
  )
  if (allowed.length > meant.length)
    throw new Error(`${allowed.length} allowed, ${meant.length} chosen: ${allowed}`)

  function choose(request: AgentRequest, choice: Choice): void {
    if (choice === 'none') return
    const option = choice === 'first' ? request.options[0] : request.options.at(-1)
    const answer =
      choice === 'nonsense' ? 'no such option' : choice === 'cancel' || !option ? 'cancel' : option.id
    try {
      const isTaken = talk.answer(request.id, answer)
      if (choice === 'nonsense' && isTaken && !request.options.some(({ id }) => id === answer))
        throw new Error('an option that is not there was taken')
      if (isTaken && talk.stateOf(request.id) === 'open') throw new Error('it was answered, and is open')
      if (isTaken && option && answer === option.id) chosen.set(request.id, option)
    } catch (error) {
      if (!Fault.is(error)) throw error
    }
  }
})
