import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { RunInfo } from '../../src/serve/run-info.ts'
import { RunList } from '../../src/serve/run-list.ts'
import { ask, putRun, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

/** A run of this day. */
function putDay(dir: string, name: string, day: number): void {
  const path = putRun(dir, name, 1)
  writeFileSync(join(path, 'meta.1.json'), JSON.stringify({ started_at: `2026-01-0${day}T00:00:00Z` }))
  utimesSync(path, day, day)
}

const idsIn = (text: string): string[] => JSON.parse(text).map(({ id }: RunInfo) => id)

test('the list comes in pages, each with a link to the next', async () => {
  const dir = root()
  for (let day = 1; day <= 5; day++) putDay(dir, `day ${day}`, day)
  const { url } = await serving(dir)
  const pages: string[][] = []
  for (let next: string | undefined = '?limit=2'; next !== undefined; ) {
    const { text, headers } = await ask(`${url}runs${next}`)
    pages.push(idsIn(text))
    next = /^<(.*)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1]
  }
  expect(pages).toEqual([['day 5', 'day 4'], ['day 3', 'day 2'], ['day 1']])
  expect((await ask(`${url}runs?limit=5`)).headers['link']).toBeUndefined()
  expect((await ask(`${url}runs?limit=0`)).status).toBe(400)
  expect((await ask(`${url}runs?limit=2&after=nowhere`)).status).toBe(410)
})

test('a client that has a version gets what changed since, and a 304 while nothing does', async () => {
  const dir = root()
  for (const name of ['kept', 'grows', 'goes']) putRun(dir, name, 1)
  const { url } = await serving(dir)
  const { headers } = await ask(`${url}runs?limit=9`)
  const tag = String(headers['etag'])
  const since = `${url}runs?since=${tag.slice(1, -1)}`
  const again = () => ask(since, { 'if-none-match': tag })
  expect((await again()).status).toBe(304)
  expect((await ask(`${url}runs`, { 'if-none-match': tag })).status).toBe(304)
  expect(JSON.parse((await ask(since)).text)).toEqual({ runs: [], gone: [] })
  rmSync(join(dir, 'goes'), { recursive: true })
  putRun(dir, 'grows', 2)
  putRun(dir, 'new', 1)
  await expect.poll(async () => (await again()).status).toBe(200)
  const { text, headers: later } = await again()
  const { runs, gone } = JSON.parse(text)
  expect([runs.map(({ id }: RunInfo) => id).sort(), gone]).toEqual([['grows', 'new'], ['goes']])
  const next = String(later['etag'])
  expect((await ask(`${url}runs?since=${next.slice(1, -1)}`, { 'if-none-match': next })).status).toBe(304)
  for (const other of ['x', 'x-1', `${tag.slice(1, -1)}x`, '', '-'])
    expect((await ask(`${url}runs?since=${other}`)).status, other).toBe(410)
})

/** A list of runs that are found when `go` is called for each. */
function slowList(total: number) {
  const info = (at: number) => ({ id: `r${at}`, state: 'unknown', started_at: null }) as unknown as RunInfo
  let found = 0
  const shut = new AbortController()
  const source = {
    *look() {
      for (let at = 0; at < total; at++) {
        found++
        // Longer than a turn, so that others get one after each.
        for (const began = performance.now(); performance.now() - began < 9; );
        yield { info: info(at), place: { key: `/r${at}` } } as never // cast: no more of it is used
      }
    },
    textOf: (run: RunInfo) => JSON.stringify(run.id),
  }
  const list = new RunList(source, shut.signal)
  return { list, found: () => found, stop: () => shut.abort() }
}

test('the first page does not wait for the runs of the others, and others get a turn between two runs', async () => {
  const { list, found } = slowList(20)
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const page = await list.page(3, undefined)
  expect(page).toEqual({ runs: ['"r0"', '"r1"', '"r2"'], next: 'r2' })
  expect(found()).toBeLessThan(8)
  const version = list.version
  await list.fresh()
  clearInterval(timer)
  expect(found()).toBe(20)
  expect(turns).toBeGreaterThan(10)
  expect(list.since(version)?.runs).toHaveLength(20 - Number(version.split('-')[1]))
  expect((await list.page(100, 'r2'))?.next).toBeUndefined()
})

test('looks for runs that are not there take a fifth of the time', async () => {
  const { list, found } = slowList(10)
  await list.fresh()
  await Promise.all(Array.from({ length: 50 }, () => list.seek()))
  // All of them waited for the same look.
  expect(found()).toBe(20)
  const began = performance.now()
  await list.seek()
  await list.seek()
  expect(found()).toBe(40)
  // Each look takes 90 ms or more.
  expect(performance.now() - began).toBeGreaterThan(2 * 5 * 90)
})

test('a server that is shut while it reads stops reading', async () => {
  const { list, found, stop } = slowList(50)
  const page = await list.page(1, undefined)
  stop()
  await list.fresh()
  expect([page?.next, found() < 10]).toEqual(['r0', true])
})

test('a run is opened while the list is not read yet', async () => {
  const dir = root()
  mkdirSync(join(dir, 'a'))
  putRun(dir, 'a/run', 2)
  const { url } = await serving(dir)
  const { status, text } = await ask(`${url}runs/a%2Frun`)
  expect([status, JSON.parse(text).id]).toEqual([200, 'a/run'])
})

test('a list of any length takes what changed, and what is gone, from one look', async () => {
  const infoAt = (at: number, attempts: number) =>
    ({ id: `r${at}`, state: 'unknown', started_at: null, attempts }) as unknown as RunInfo
  const runAt = (at: number, attempts = 1) => ({ info: infoAt(at, attempts), place: { key: `/r${at}` } })
  const looks = [[runAt(0), runAt(1), runAt(2)], [runAt(1, 2), { gone: '/r2' }, { gone: '/never' }], []]
  const source = { look: () => (looks.shift() ?? []) as never, textOf: (run: RunInfo) => JSON.stringify(run) }
  const list = new RunList(source, new AbortController().signal)
  await list.fresh()
  const { version } = list
  await list.fresh(true)
  const changed = list.since(version)
  expect(changed?.runs.map((text) => JSON.parse(text).id)).toEqual(['r1'])
  expect(changed?.gone).toEqual(['r2'])
  expect(list.all().map((text) => JSON.parse(text).id)).toEqual(['r0', 'r1'])
  const now = list.version
  await list.fresh(true)
  expect([list.version, list.since(now)]).toEqual([now, { runs: [], gone: [] }])
})
