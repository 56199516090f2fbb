import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { replay, run } from '../../src/index.ts'
import { handler } from '../../src/serve/handler.ts'
import { agent } from '../run/agent.ts'
import { parseSse, root, serving, shutAll } from './serving.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await shutAll()
})

/** It works until it is ended, and says something then. */
const worker = `
  say(lines[0])
  say(lines[1])
  const note = (id, text) => say(JSON.stringify({ type: 'item.completed', item: { id, type: 'agent_message', text } }))
  process.on('SIGTERM', () => { note('last', 'Stopping now.'); process.exit(143) })
  while (!fs.existsSync('go')) await sleep(10)
  for (let at = 0; at < COUNT; at++) note('n' + at, 'x'.repeat(SIZE))
  setInterval(() => {}, 1000)`

const working = (cwd: string, count = 3, size = 10) =>
  agent(cwd, worker.replace('COUNT', String(count)).replace('SIZE', String(size)))

const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers })

const ended = (text: string) => {
  const last = parseSse(text).at(-1)!
  return [last.event, JSON.parse(last.data).data]
}

test('a browser sees all of a run whose reader has left, and how it ended', async () => {
  const cwd = root()
  const runs = handler({ dir: cwd, allow: () => true })
  ends.push(() => runs.close())
  const live = run({ ...working(cwd), engine: 'codex', cwd, runs: join(cwd, 'runs'), fsDiff: false })
  const first = await runs.fetch(get(`/runs/${live.runId}/chat`))
  const views = ['events', 'ag-ui', 'ai-sdk', 'events?follow=1']
  const open = await Promise.all(views.map((view) => runs.fetch(get(`/runs/${live.runId}/${view}`))))
  for await (const _ of live) break
  writeFileSync(join(cwd, 'go'), '')
  expect(await live.end).toMatchObject({ outcome: 'cancelled' })
  const seen = await first.text()
  const end = ['conversation.ended', { outcome: 'cancelled', ok: false, text: 'Stopping now.' }]
  expect(ended(seen)).toMatchObject(end)
  const all = parseSse(seen).filter(({ event }) => event !== undefined)
  const [events, agUi, aiSdk] = await Promise.all(open.slice(0, 3).map((response) => response.text()))
  const replayed = (await replay(live.audit!).toArray()).map((event) => JSON.stringify(event))
  expect(parseSse(events!).map(({ data }) => data)).toEqual(replayed)
  expect(agUi).toContain('cancelled')
  expect(aiSdk).toContain('abort')
  const reader = open[3]!.body!.pipeThrough(new TextDecoderStream()).getReader()
  let followed = ''
  while (parseSse(followed).length < replayed.length) followed += (await reader.read()).value
  await reader.cancel()

  // Somebody who comes later, also over a server, and the one who has a part of it.
  const { url } = await serving(cwd)
  const later = await (await fetch(`${url}runs/${live.runId}/chat`)).text()
  expect(parseSse(later)).toEqual(all)
  const id = all[1]!.id!
  const rest = await runs.fetch(get(`/runs/${live.runId}/chat`, { 'last-event-id': id }))
  expect(parseSse(await rest.text())).toEqual(all.slice(2))
  const listed = async () => ((await (await fetch(`${url}runs`)).json()) as { state: string }[])[0]!
  // Its logs are read in the background.
  await expect.poll(async () => (await listed()).state).toBe('interrupted')
  const problem = 'the reader of the run left, so the process was ended'
  expect(await listed()).toMatchObject({ outcome: 'cancelled', ok: false, problem })
  const found = await (await fetch(`${url}search?q=Stopping%20now`)).text()
  expect(JSON.parse(found.split('\n')[1]!)).toMatchObject({ hit: { match: 'Stopping now', count: 1 } })
})
