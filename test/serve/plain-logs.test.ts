import { appendFileSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { slow } from '../pace.ts'
import { codexLines } from '../run/agent.ts'
import { ask, parseSse, putRun, root, serving, shutAll } from './serving.ts'

afterEach(async () => {
  vi.unstubAllEnvs()
  await shutAll()
})

/** A run that only left its output, some time ago. */
function putLogs(dir: string, name: string, text = `${codexLines.join('\n')}\n`, meta?: object): string {
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'stdout.log'), text)
  utimesSync(join(path, 'stdout.log'), 1000, 1000)
  if (meta) writeFileSync(join(path, 'meta.json'), JSON.stringify(meta))
  return path
}

const idsOf = (text: string) => parseSse(text).map((message) => message.id || message.event)
// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is looked at field by field.
const list = async (url: string): Promise<any> => (await fetch(`${url}runs`)).json()

test('a client that has everything is told so, not sent a reset and everything again', async () => {
  const dir = root()
  // A run that waits for a reply would keep its client.
  const path = putLogs(dir, 'logs', undefined, { exit_code: 1 })
  const before = readdirSync(path)
  const first = await serving(dir)
  const ids = idsOf((await ask(`${first.url}runs/logs/events`)).text)
  expect(ids.length).toBeGreaterThan(3)
  // They are read here, and nothing is written beside them.
  expect(readdirSync(path)).toEqual(before)
  // A second server has not read them yet.
  for (const { url } of [first, await serving(dir)]) {
    for (let again = 0; again < 3; again++) {
      const { status, text } = await ask(`${url}runs/logs/events`, { 'last-event-id': ids.at(-1)! })
      expect([status, text]).toEqual([204, ''])
    }
    const { text } = await ask(`${url}runs/logs/events?after=${encodeURIComponent(ids[1]!)}`)
    expect(idsOf(text)).toEqual(ids.slice(2))
    const foreign = await ask(`${url}runs/logs/events`, { 'last-event-id': 'other:2' })
    expect(idsOf(foreign.text)).toEqual(['sluice.reset', ...ids])
  }
})

test.runIf(slow)('the list shows the engine and the end of runs without a journal', async () => {
  const dir = root()
  const done =
    '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"{\\"__SKILL_DONE__\\": true}"}}'
  putLogs(dir, 'waits')
  putLogs(dir, 'done', `${[...codexLines.slice(0, 2), done, codexLines[3]].join('\n')}\n`)
  putLogs(dir, 'failed', `${codexLines.slice(0, 3).join('\n')}\n`, { exit_code: 1 })
  putLogs(dir, 'cut', `${codexLines.join('\n').slice(0, -9)}`)
  putLogs(dir, 'words', 'hello\n')
  const { url } = await serving(dir)
  const told = (await list(url)).map(({ id, engine, state, reason_code }: Record<string, string>) => [
    id,
    engine,
    state,
    reason_code,
  ])
  expect(told.sort()).toEqual([
    ['cut', 'codex', 'interrupted', 'TRUNCATED'],
    ['done', 'codex', 'completed', 'DONE_MARKER'],
    ['failed', 'codex', 'interrupted', 'EXIT_CODE'],
    ['waits', 'codex', 'awaiting_user_input', 'END_SIGNAL'],
    ['words', 'text', 'unknown', 'NO_END_SIGNAL'],
  ])
  expect(await (await fetch(`${url}runs/failed`)).json()).toMatchObject({
    state: 'interrupted',
    exit_code: 1,
  })
  // A second attempt that went otherwise is what counts then.
  writeFileSync(join(dir, 'failed', 'stdout.2.log'), `${codexLines.join('\n')}\n`)
  utimesSync(join(dir, 'failed', 'stdout.2.log'), 1000, 1000)
  await expect
    .poll(async () => (await list(url)).find(({ id }: Record<string, string>) => id === 'failed').state)
    .toBe('awaiting_user_input')
})

test('an empty journal that no recorder holds does not hide the logs', async () => {
  const dir = root()
  writeFileSync(join(putLogs(dir, 'logs'), 'events.jsonl'), '')
  const { url } = await serving(dir)
  expect(await list(url)).toMatchObject([{ engine: 'codex', state: 'awaiting_user_input' }])
  expect(idsOf((await ask(`${url}runs/logs/events`)).text).length).toBeGreaterThan(3)
})

test('logs that rest are over, and an end that was told too early is taken back', async () => {
  const dir = root()
  const log = join(putLogs(dir, 'logs', `${codexLines.slice(0, 3).join('\n')}\n`), 'stdout.log')
  const now = Date.now() / 1000
  utimesSync(log, now, now)
  const { url } = await serving(dir)
  const response = await fetch(`${url}runs/logs/events`)
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('agent.message.final')) text += decoder.decode((await reader.read()).value)
  // Its last byte is old now, so it is over.
  utimesSync(log, 1000, 1000)
  for (let part = await reader.read(); !part.done; part = await reader.read())
    text += decoder.decode(part.value)
  const before = parseSse(text)
  expect(before.at(-1)?.event).toBe('lifecycle.completion.state')
  const end = before.at(-1)!.id!
  expect((await ask(`${url}runs/logs/events`, { 'last-event-id': end })).status).toBe(204)
  appendFileSync(log, `${codexLines[3]}\n`)
  utimesSync(log, 2000, 2000)
  const again = parseSse((await ask(`${url}runs/logs/events`, { 'last-event-id': end })).text)
  expect(again[0]?.event).toBe('sluice.reset')
  expect(JSON.parse(again.at(-1)!.data).data.state).toBe('awaiting_user_input')
})

test('logs that cannot be read say why, once', async () => {
  const dir = root()
  writeFileSync(join(putLogs(dir, 'logs'), 'meta.json'), '{"exit_code": 1')
  const { url } = await serving(dir)
  expect(await list(url)).toMatchObject([{ id: 'logs', state: 'unknown', reason_code: null }])
  const [fault, ...more] = parseSse((await ask(`${url}runs/logs/events`)).text)
  expect([fault?.event, fault?.id, more]).toEqual(['sluice.fault', '0', []])
  expect(JSON.parse(fault!.data)).toMatchObject({ code: 'NOT_AN_AUDIT' })
  expect((await ask(`${url}runs/logs/events`, { 'last-event-id': '0' })).status).toBe(204)
})

test('the link to the latest run is not one more run', async () => {
  const dir = root()
  putRun(dir, '20260102-030405-ab12', 2)
  symlinkSync('20260102-030405-ab12', join(dir, 'latest'))
  const { url } = await serving(dir)
  expect((await list(url)).map(({ id }: Record<string, string>) => id)).toEqual(['20260102-030405-ab12'])
  expect((await fetch(`${url}runs/latest`)).status).toBe(404)
  // To serve what it leads to is the wish of the user.
  const one = await serving(join(dir, 'latest'))
  expect((await list(one.url)).map(({ id }: Record<string, string>) => id)).toEqual(['20260102-030405-ab12'])
})

test('what was derived goes away with the server', async () => {
  const dir = root()
  const temp = root()
  vi.stubEnv('TMPDIR', temp)
  putLogs(dir, 'logs')
  const { url, close } = await serving(dir)
  await ask(`${url}runs/logs/events`)
  expect(readdirSync(temp)).toHaveLength(1)
  await close()
  await expect.poll(() => readdirSync(temp)).toEqual([])
})

test('logs of another recorder are read as those of the agent that the reader names', async () => {
  const dir = root()
  const line = '{"type":"assistant.message","data":{"messageId":"m","content":"Hi."}}'
  putLogs(dir, 'logs', `${line}\n`)
  putRun(dir, 'run', 3)
  const { url } = await serving(dir)
  const chat = async (query: string) => {
    const { text } = await ask(`${url}runs/logs/chat${query}`)
    return parseSse(text).flatMap(({ event, data }) =>
      event === 'assistant.message.final' ? JSON.parse(data).data.text : [],
    )
  }
  expect(await chat('')).toEqual([line])
  expect(await chat('?engine=copilot')).toEqual(['Hi.'])
  expect(await chat('?engine=')).toEqual([line])
  for (const wrong of ['logs/events?engine=nobody', 'run/events?engine=claude'])
    expect((await ask(`${url}runs/${wrong}`)).status).toBe(400)
  const runs = await list(url)
  expect(runs.map(({ id, logs_only }: Record<string, unknown>) => [id, logs_only]).sort()).toEqual([
    ['logs', true],
    ['run', undefined],
  ])
})
