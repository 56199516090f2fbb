import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { ask } from '../../src/ask/ask.ts'
import { milliseconds } from '../../src/base/duration.ts'
import { fileCache } from '../../src/disk/cache.ts'
import { journal } from '../../src/disk/journal.ts'
import { mirror } from '../../src/nats/mirror.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import { serve } from '../../src/serve/serve.ts'
import { sse } from '../../src/streams/sse.ts'
import { tap } from '../../src/streams/tap.ts'
import { redactor } from '../../src/views/redact/redact.ts'
import { work } from '../../src/work/work.ts'

test.each<[unknown, number]>([
  [0, 0],
  [250, 250],
  ['500ms', 500],
  ['10s', 10_000],
  ['1.5s', 1500],
  ['5m', 300_000],
  ['2h', 7_200_000],
])('%j is %i ms', (duration, ms) => {
  expect(milliseconds(duration)).toBe(ms)
})

test.each(['10', '10 s', 's', '-1s', '1d', '', '1e3s', '10S', Number.NaN, null])(
  '%j is no duration',
  (given) => {
    expect(milliseconds(given)).toBeNaN()
  },
)

/** The message of what a call throws, rejects with or destroys its flow with. */
async function refusal(call: () => unknown): Promise<string> {
  try {
    const made = await call()
    if (made instanceof Readable) for await (const _ of made);
    return 'taken'
  } catch (error) {
    return (error as Error).message
  }
}

const order = { issue_ref: 'a#1', run_id: 'r1', repo_dir: '/' }
// Casts: what a caller without types writes.
const late = 'soon' as never
test.each<[string, () => unknown]>([
  ['timeout of run', () => run('true', [], { timeout: late }).end],
  ['killGrace of run', () => run('true', [], { killGrace: '25d' as never }).end],
  ['maxCacheWait of ask', () => ask(() => '{}', { prompt: 'p', maxCacheWait: late })],
  ['timeout of work', () => work(order, { worker: 'script', command: ['true'], timeout: late })],
  ['heartbeat of sse', () => sse({ heartbeat: late })],
  ['heartbeat of serve', () => serve({ dir: '.', heartbeat: late })],
  ['pipeGrace of tap', () => tap('x', { pipeGrace: late })],
  ['interval of journal', () => journal('/dev/null/x', { interval: late })],
  ['untilIdle of mirror', () => mirror('/dev/null/x', { untilIdle: 0 })],
])('a time that is none is refused, and the message shows some: %s', async (option, call) => {
  expect(await refusal(call)).toMatch(
    new RegExp(`${option.split(' ')[0]} must be milliseconds.* such as "500ms", "90s", "5m" or "1h"`),
  )
})

test.each<[string, () => unknown]>([
  [
    'ask has no option "retries"; it is called rounds now',
    () => ask(() => '{}', { prompt: 'p', retries: 2 } as never),
  ],
  ['replay has no option "custom"; it is called engine now', () => replay('.', { custom: {} } as never)],
  ['tap has no option "grace"; it is called pipeGrace now', () => tap('x', { grace: 2000 } as never)],
])('an old name is refused, and the message has the new one: %s', async (message, call) => {
  expect(await refusal(call)).toContain(message)
})

test.each<[string, (options: never) => unknown]>([
  ['serve', (options) => serve({ dir: '.', ...(options as object) })],
  ['redactor', redactor],
  ['fileCache', (options) => fileCache('/dev/null/x', options)],
])('a signal that would do nothing is refused: %s', async (who, call) => {
  const { signal } = new AbortController()
  expect(await refusal(() => call({ signal } as never))).toContain(`${who} has no option "signal"`)
})
