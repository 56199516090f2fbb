import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AgentEvent as Event, type Run, type RunEnd, run } from '../../../src/index.ts'
import { loops, seed } from '../../pace.ts'

const GRACE = { killGrace: 300, pipeGrace: 200 }

/** Scripts of an agent. A burst is one write; `ends` is one that is over before its reader has read it. */
const printing = {
  'for ever': () => 'while :; do echo one line of words; done',
  'in bursts for ever': (size: number) => `while :; do yes words | head -c ${size}; done`,
  'one burst': (size: number) => `yes words | head -c ${size}; sleep 60`,
  'one line, and sleeps': () => 'echo one; sleep 60',
  'and ignores signals': () => `trap '' TERM; while :; do echo one line of words; done`,
  'and a child keeps its pipe': () => 'setsid sleep 60 & while :; do echo one line; done',
  'and ends': (size: number) => `yes words | head -c ${size}`,
}

/** Ways to leave after so many events. */
const leavings: Record<string, (agent: Run, after: number) => Promise<unknown>> = {
  async break(agent, after) {
    for await (const _ of agent) if (--after <= 0) break
  },
  async throw(agent, after) {
    try {
      for await (const _ of agent) if (--after <= 0) throw new Error('enough')
    } catch {}
  },
  async 'a sink that fails'(agent, after) {
    const sink = new Writable({
      objectMode: true,
      write: (_, __, done) => done(--after <= 0 ? new Error('full') : null),
    })
    await pipeline(agent, sink).catch(() => {})
  },
  async destroy(agent, after) {
    await new Promise<void>((resolve) => {
      agent.on('close', resolve).on('data', () => {
        if (--after <= 0) agent.destroy()
      })
    })
  },
  async 'destroy with an error'(agent) {
    agent.destroy(new Error('no longer wanted'))
  },
}

const choice = fc.record({
  prints: fc.constantFrom(...(Object.keys(printing) as (keyof typeof printing)[])),
  size: fc.constantFrom(16, 64, 100, 1024).map((kilobytes) => kilobytes * 1024),
  leaves: fc.constantFrom(...Object.keys(leavings)),
  after: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 200 })),
  recorded: fc.boolean(),
  asksFirst: fc.boolean(),
})

test('leaving anywhere: the end is told in time, and nothing is left open', async () => {
  const open = () => readdirSync('/proc/self/fd').length
  const kinds = () =>
    process
      .getActiveResourcesInfo()
      .filter((kind) => /Pipe|Process|Tty/.test(kind))
      .sort()
  const runs = mkdtempSync(join(tmpdir(), 'sluice-leaving-'))
  // Node keeps what its first watcher needs.
  await run('true', [], { runs, fsDiff: false }).end
  // The handle of a process is closed a moment after it has told the exit.
  await expect.poll(kinds).not.toContain('ProcessWrap')
  const before = { open: open(), kinds: kinds() }
  const listeners = process.listenerCount('SIGTERM')
  await fc.assert(
    fc.asyncProperty(choice, async ({ prints, size, leaves, after, recorded, asksFirst }) => {
      const script = printing[prints](size)
      // More does not come.
      const count = prints === 'one line, and sleeps' ? 1 : after
      const options = { engine: 'text', ...GRACE, fsDiff: false, ...(recorded && { runs }) } as const
      const agent = run('sh', ['-c', script], options)
      let last: Event | undefined
      if (leaves !== 'destroy with an error') agent.on('error', () => {})
      const early = asksFirst ? agent.end : undefined
      const seen = (event: Event) => {
        last = event
      }
      const push = agent.push.bind(agent)
      agent.push = (event: Event | null) => {
        if (event) seen(event)
        return push(event)
      }
      await leavings[leaves]!(agent, count)
      const left = performance.now()
      const end: RunEnd = await (early ?? agent.end)
      // The machine may be busy; a hang is what this is about.
      expect(performance.now() - left).toBeLessThan(GRACE.killGrace + GRACE.pipeGrace + 3000)
      const isOver = last?.type === 'lifecycle.completion.state'
      if (isOver) expect(end.completion).toEqual(last?.data)
      else expect(end).toMatchObject({ outcome: 'cancelled', ok: false, reason: 'abandoned' })
      expect(end.audit).toBe(agent.audit)
    }),
    { numRuns: loops(1000), seed },
  )
  await expect.poll(kinds).toEqual(before.kinds)
  await expect.poll(open).toBe(before.open)
  expect(process.listenerCount('SIGTERM')).toBe(listeners)
}, 900_000)
