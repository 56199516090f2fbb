import { engines } from '../../src/engines/engines-by-name.ts'
import type { Event } from '../../src/events/event.ts'
import { eventsOf, type Fixture, inPieces } from './fixture.ts'
import { endOf, only, texts } from './run.ts'

/** What a run comes to: for tests that say it in their own words. */
export interface Summary {
  readonly state: string
  readonly messages: readonly string[]
  readonly completed?: readonly string[]
  readonly failed?: readonly string[]
  readonly reasoning?: number
  readonly files?: readonly string[]
}

/** The summary of events, with names only for what happened. */
function summary(events: readonly Event[]): Summary {
  const names = (...types: ('tool.call.completed' | 'tool.call.failed')[]) =>
    only(events, ...types).map(({ data }) => data.name)
  const files = only(events, 'artifact.created', 'artifact.modified', 'artifact.deleted')
  const all = {
    completed: names('tool.call.completed'),
    failed: names('tool.call.failed'),
    files: files.map(({ type, data }) => `${type.slice('artifact.'.length)} ${data.path}`),
  }
  const reasoning = only(events, 'agent.reasoning.summary').length
  return {
    state: endOf(events).state,
    messages: texts(events),
    ...Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0)),
    ...(reasoning > 0 && { reasoning }),
  }
}

/** The summary of a fixture; the PTY alone must come to the same. */
export function summaryOf(fixture: Fixture): Summary {
  const whole = summary(eventsOf(fixture, inPieces(fixture)))
  const logs = fixture.logs.filter(({ channel }) => channel === 'pty')
  if (logs.length > 0 && fixture.logs.length > 1) {
    const alone = summary(eventsOf({ ...fixture, logs }, inPieces({ ...fixture, logs })))
    if (JSON.stringify(alone) !== JSON.stringify(whole))
      throw new Error(`the PTY alone says ${JSON.stringify(alone)}`)
  }
  return whole
}

const known = new WeakMap<Fixture, readonly string[][]>()

/** The engines that take each line of stdout for theirs. */
export function takers(fixture: Fixture): readonly string[][] {
  const all = known.get(fixture) ?? findTakers(fixture)
  known.set(fixture, all)
  return all
}

function findTakers({ logs }: Fixture): readonly string[][] {
  const stdout = logs.find(({ channel }) => channel === 'stdout')?.bytes ?? Buffer.of()
  const lines = Buffer.from(stdout)
    .toString()
    .split('\n')
    .filter((line) => /^\{.*\}$/.test(line))
  return lines.map((line) => {
    // Only what a shape test looks at.
    const frame = { channel: 'stdout', kind: 'line', text: line, value: JSON.parse(line) } as never
    return Object.values(engines)
      .filter((engine) => engine.shape?.(frame))
      .map(({ name }) => name)
  })
}
