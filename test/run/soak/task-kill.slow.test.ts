import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AgentEvent as Event } from '../../../src/index.ts'
import { replay, resume } from '../../../src/index.ts'
import { built } from '../../built.ts'
import { loops, seed } from '../../pace.ts'

/** Reads its task to the end, stores its hash, and says that all went well, whatever it got. */
const agent = `
  const hash = require('node:crypto').createHash('sha256')
  let wire = ''
  const done = () => {
    require('node:fs').writeFileSync('got', hash.digest('hex'))
    for (const line of [
      { type: 'thread.started', thread_id: 't-1' },
      { type: 'turn.started' },
      { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Done.' } },
      { type: 'turn.completed', usage: {} },
    ]) console.log(JSON.stringify(line))
  }
  process.stdin.on('data', (bytes) => hash.update(bytes)).on('end', done)`

/** Runs the agent with a task in the file \`task\`, in the way that it is told. */
const recorder = `
  import { spawn } from 'node:child_process'
  import { readFileSync } from 'node:fs'
  const [, , library, how] = process.argv
  const { run } = await import(library)
  const options = { audit: 'audit', engine: 'codex', prompt: readFileSync('task', 'utf8'), fsDiff: false }
  const ways = { file: {}, pipe: { spawn } }
  process.stdout.write('now')
  await run(process.execPath, ['agent.cjs'], { ...options, ...ways[how] }).end`

async function killed(size: number, how: 'file' | 'pipe', after: number) {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-task-'))
  const task = randomBytes(size / 2).toString('hex')
  writeFileSync(join(cwd, 'task'), task)
  writeFileSync(join(cwd, 'agent.cjs'), agent)
  writeFileSync(join(cwd, 'recorder.mjs'), recorder)
  const host = spawn(process.execPath, ['recorder.mjs', built('src/index.ts'), how], {
    cwd,
    // A named pipe that it is about to open is left behind.
    env: { ...process.env, TMPDIR: cwd },
  })
  host.stderr.resume()
  const over = once(host, 'close')
  await once(host.stdout, 'data')
  host.stdout.resume()
  await delay(after)
  host.kill('SIGKILL')
  await over
  const audit = join(cwd, 'audit')
  if (!existsSync(join(audit, 'meta.1.json')) || !existsSync(join(audit, 'stdout.1.log'))) return 'not begun'
  await resume(audit)
  const events: Event[] = []
  for await (const event of replay(audit)) events.push(event)
  const end = events.at(-1)
  if (end?.type !== 'lifecycle.completion.state') throw new Error('no end')
  if (!existsSync(join(cwd, 'got'))) return `nothing read, ${end.data.outcome}`
  const isWhole = readFileSync(join(cwd, 'got'), 'utf8') === createHash('sha256').update(task).digest('hex')
  const isTold = events.some(
    (event) => event.type === 'diagnostic.engine.error' && event.data.code === 'TASK_CUT',
  )
  // What is cut is told, and is no good end; a task in a file is never cut.
  if (!isWhole) expect({ how, isTold, ok: end.data.ok }).toEqual({ how: 'pipe', isTold: true, ok: false })
  if (isTold) expect(end.data.ok).toBe(false)
  return isWhole ? (isTold ? 'whole, told as cut' : 'whole') : 'cut, and told'
}

test.each(['file', 'pipe'] as const)(
  'a task through a %s: all of it, or the recording says so',
  async (how) => {
    const seen = new Map<string, number>()
    const place = fc.record({
      size: fc
        .oneof(fc.integer({ min: 10, max: 50_000 }), fc.integer({ min: 50_000, max: 2_500_000 }))
        .map((half) => half * 2),
      after: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 60, max: 200 })),
    })
    await fc.assert(
      fc.asyncProperty(place, async ({ size, after }) => {
        const what = await killed(size, how, after)
        seen.set(what, (seen.get(what) ?? 0) + 1)
      }),
      { numRuns: loops(100), seed, endOnFailure: true },
    )
    console.log(how, Object.fromEntries(seen))
  },
  900_000,
)
