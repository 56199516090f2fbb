import { once } from 'node:events'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { run } from '../../src/run/run.ts'
import type { RunInfo } from '../../src/serve/run-info.ts'
import { sse } from '../../src/streams/sse.ts'
import { makeEvent } from '../disk/make-event.ts'
import { agent, codexLines, workspace } from '../run/agent.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { putRun, root, serving } from './serving.ts'

const fixtures = new URL('../../fixtures', import.meta.url).pathname

const lit = "[...document.querySelectorAll('#bytes mark')].map((mark) => mark.textContent).join('')"
const counted = (page: Page, count: number) =>
  page.waitForSelector(`#facts[data-events="${count}"]`, { state: 'attached', timeout: 60_000 })
/**
 * Every item of the conversation: only what is in sight is in the document, so it is scrolled from top to
 * bottom.
 */
const ids = (page: Page): Promise<string[]> =>
  page.evaluate(`(async () => {
    const box = document.getElementById('conversation')
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
    const seen = new Map()
    box.scrollTop = 0
    for (;;) {
      await frame()
      for (const item of box.querySelectorAll('article')) seen.set(item.dataset.id, item.dataset.id + ' ' + item.textContent)
      const before = box.scrollTop
      box.scrollTop += box.clientHeight
      if (box.scrollTop === before) return [...seen.values()]
    }
  })()`)

describe.skipIf(!chromiumPath)(`in a browser${needsBrowser}`, () => {
  const pages = pagesOfBrowser()
  const open = (url: string, id = '') => pages.open(url, id && `#${encodeURIComponent(id)}`)

  test('lists every fixture, and shows a run of each engine to its end', async () => {
    const { url } = await serving(fixtures)
    const page = await open(url)
    await page.waitForSelector('#runs a')
    const listed = ((await (await fetch(`${url}runs`)).json()) as RunInfo[]).map(({ id }) => id)
    await page.locator('#count', { hasText: `${listed.length} runs` }).waitFor()
    const there = readdirSync(fixtures, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap((engine) =>
        readdirSync(join(fixtures, engine.name), { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map((entry) => `${engine.name}/${entry.name}`),
      )
    expect(listed.sort()).toEqual(there.sort())
    const engines = new Map(listed.map((id) => [id.slice(0, id.indexOf('/')), id]))
    for (const id of engines.values()) {
      const count = readFileSync(join(fixtures, id, 'events.jsonl'), 'utf8').split('\n').length - 1
      await page.evaluate(`location.hash = encodeURIComponent(${JSON.stringify(id)})`)
      // Two runs may have as many events.
      await page.waitForFunction(`document.getElementById('task').title === ${JSON.stringify(id)}`)
      await counted(page, count)
      await page.keyboard.press('G')
      expect(await page.locator('article.chosen').getAttribute('data-kind'), id).toBe('end')
      await page.keyboard.press('Escape')
    }
  })

  test('choosing a message lights exactly its bytes in the raw stream', async () => {
    const dir = join(
      fixtures,
      'codex',
      readdirSync(join(fixtures, 'codex')).find((name) => name.includes('unicode')) ?? '',
    )
    const events = readFileSync(join(dir, 'events.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const { url } = await serving(dir)
    const page = await open(url)
    await over(page)
    await page.keyboard.press('b')
    const finals = events.filter((event) => event.type === 'agent.message.final')
    expect(finals.length).toBeGreaterThan(0)
    for (const event of finals) {
      const { stream, byte_from, byte_to } = event.raw_ref
      await page.locator(`article[data-id="${event.attempt_number}.${event.seq}"]`).click()
      const log = { stdout: 'stdout.log', stderr: 'stderr.log', pty: 'pty-output.log' }[stream as 'stdout']
      const wanted = readFileSync(join(dir, log))
        .subarray(byte_from, byte_to)
        .toString()
        .replaceAll('\r', '\u240d')
        .replaceAll('\u007f', '\u2421')
      await expect.poll(() => page.evaluate(lit)).toBe(wanted)
      expect(await page.locator(`#streams [aria-selected=true]`).getAttribute('data-stream')).toBe(stream)
    }
    // And back: a click on a line of the log chooses what it means.
    const first = finals[0]
    await page.keyboard.press('Escape')
    await page.locator(`.row[data-at="${first.raw_ref.byte_from}"] .line`).click()
    expect(await page.locator('article.chosen').getAttribute('data-id')).toBe(`1.${first.seq}`)
  })

  test('text of an agent stays text', async () => {
    const dir = root()
    const path = putRun(dir, 'r', 1)
    const evil =
      '<img src=x onerror="document.title=1"><script>document.title=2</script>\n```\n</pre><b>x</b>\n```'
    const made = [
      makeEvent(1, { text: evil, run: 'r' }),
      makeEvent(2, { text: evil, run: 'r', diagnostic: true }),
    ]
    writeFileSync(join(path, 'events.jsonl'), made.map((event) => `${JSON.stringify(event)}\n`).join(''))
    writeFileSync(join(path, 'stdout.1.log'), evil)
    const { url } = await serving(dir)
    const page = await open(url, 'r')
    await over(page)
    // Notes of the parser are out of the way until they are asked for.
    expect(await page.locator('article').count()).toBe(1)
    await page.keyboard.press('1')
    await page.keyboard.press('5')
    expect(
      await page.$$eval('article img, article script, #bytes img, article b', (found) =>
        found.map((element) => element.outerHTML),
      ),
    ).toEqual(['<b>RAW_LINE</b>'])
    expect(await page.locator('article').first().innerText()).toContain('<img src=x onerror=')
    expect(await page.title()).toBe('r · sluice')
  })

  test('can be used with the keys alone', async () => {
    const { url } = await serving(fixtures)
    const page = await open(url)
    await page.waitForSelector('#runs a')
    await page.keyboard.press('/')
    await page.keyboard.type('03b-tool-fail')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await over(page)
    await page.locator('#conversation').focus()
    const kinds: (string | null)[] = []
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('j')
      kinds.push(await page.locator('article.chosen').getAttribute('data-kind'))
    }
    expect(new Set(kinds).size).toBeGreaterThan(1)
    await page.keyboard.press('k')
    expect(await page.locator('article.chosen').getAttribute('data-kind')).toBe(kinds[1])
    while ((await page.locator('article.chosen').getAttribute('data-kind')) !== 'tool')
      await page.keyboard.press('j')
    // It failed, so it is open from the start.
    expect(await page.locator('article.chosen details').getAttribute('open')).toBe('')
    await page.keyboard.press('Enter')
    expect(await page.locator('article.chosen details').getAttribute('open')).toBeNull()
    await page.keyboard.press('G')
    expect(await page.locator('article.chosen').getAttribute('data-kind')).toBe('end')
    await page.keyboard.press('?')
    expect(await page.locator('#help').getAttribute('open')).toBe('')
    await page.keyboard.press('Escape')
    await page.keyboard.press('t')
    const theme = await page.evaluate('document.documentElement.dataset.theme')
    await page.keyboard.press('t')
    expect([theme, await page.evaluate('document.documentElement.dataset.theme')].sort()).toEqual([
      'dark',
      'light',
    ])
  })

  test('a live run arrives as it is written, and a page that is cut off again and again ends with the same list', {
    timeout: 90_000,
  }, async () => {
    const { cwd, audit } = workspace()
    const { port, url } = await serving(cwd)
    const sockets = new Set<Socket>()
    const proxy = createProxy((client) => {
      const server = connect(port, '127.0.0.1')
      for (const socket of [client, server]) {
        sockets.add(socket)
        socket.on('error', () => {}).once('close', () => sockets.delete(socket))
      }
      client.pipe(server).pipe(client)
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const live = run({
      ...agent(
        cwd,
        `for (let i = 0; !fs.existsSync('stop'); i++) {
          say(JSON.stringify({ type: 'item.completed', item: { id: 'item_' + i, type: 'agent_message', text: 'word ' + i } }))
          await sleep(20)
        }
        say(lines[3])`,
      ),
      engine: codex,
      cwd,
      audit,
      fsDiff: false,
    })
    await once(live, 'data')
    live.resume()
    const steady = await open(url, '.audit')
    const shaky = await open(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`, '.audit')
    await shaky.waitForSelector('article')
    expect(await steady.locator('#state').getAttribute('data-state')).toBe('running')
    // Three times: it has seen more than before, and is cut off.
    const seen = async () => Number(await shaky.locator('#facts').getAttribute('data-events'))
    for (let cut = 0, before = 0; cut < 3; cut++) {
      await expect.poll(seen, { timeout: 20_000 }).toBeGreaterThan(before)
      before = await seen()
      for (const socket of sockets) socket.destroy()
    }
    writeFileSync(join(cwd, 'stop'), '')
    const end = await live.end
    expect(end.exitCode).toBe(0)
    await over(steady)
    await over(shaky)
    const kept = readFileSync(join(audit, 'events.jsonl'), 'utf8').split('\n').length - 1
    for (const page of [steady, shaky]) await counted(page, kept)
    expect(await ids(shaky)).toEqual(await ids(steady))
    expect((await ids(steady)).length).toBeGreaterThan(20)
    await expect
      .poll(() => steady.locator('#state').getAttribute('data-state'), { timeout: 10_000 })
      .toBe('awaiting_user_input')
    proxy.close()
    for (const socket of sockets) socket.destroy()
  })

  test('says of a run whose process failed after a good turn what the API says', async () => {
    const { cwd, audit } = workspace()
    const body = 'for (const line of lines) say(line); process.exitCode = 1'
    const live = run({ ...agent(cwd, body), engine: codex, cwd, audit, fsDiff: false })
    live.resume()
    expect((await live.end).outcome).toBe('failed')
    const { url } = await serving(cwd)
    expect(await (await fetch(`${url}runs`)).json()).toMatchObject([{ outcome: 'failed' }])
    const page = await open(url, '.audit')
    await over(page)
    expect(await page.locator('#state').textContent()).toBe('failed')
    const end = page.locator('article[data-kind=end] .end p')
    expect(await end.allInnerTexts()).toEqual([
      'failed',
      'Its turn is over; end signal turn.completed; exit code 1.',
    ])
    await page.locator('#to-runs').click()
    expect(await page.locator('#runs tr').innerText()).toMatch(/codex\s*failed/)
  })

  test('a finished run of plain logs is loaded once, not again and again', { timeout: 60_000 }, async () => {
    const dir = root()
    mkdirSync(join(dir, 'logs'))
    writeFileSync(join(dir, 'logs', 'stdout.log'), `${codexLines.join('\n')}\n`)
    utimesSync(join(dir, 'logs', 'stdout.log'), 1000, 1000)
    const { url } = await serving(dir)
    const page = await pages.bare()
    const asked: (number | string)[] = []
    page.on('response', (response) => {
      if (response.url().includes('/events')) asked.push(response.status())
    })
    let lists = 0
    page.on('response', (response) => {
      if (response.url().includes('/runs?since=')) lists++
    })
    await page.goto(`${url}#logs`)
    await over(page)
    const shown = await ids(page)
    expect(shown.length).toBeGreaterThan(1)
    // It looks at the list every two seconds: three looks later it has still asked for nothing more.
    const before = lists
    await expect.poll(() => lists - before, { timeout: 30_000 }).toBeGreaterThanOrEqual(3)
    expect(asked).toEqual([200, 204])
    expect(await ids(page)).toEqual(shown)
    expect(await page.locator('#state').getAttribute('data-state')).toBe('awaiting_user_input')
    expect(await page.locator('#engine').innerText()).toContain('codex')
  })

  test('a damaged journal is shown up to the damage, and why', async () => {
    const dir = root()
    const path = putRun(dir, 'r', 3)
    const lines = readFileSync(join(path, 'events.jsonl'), 'utf8').split('\n')
    writeFileSync(join(path, 'events.jsonl'), [lines[0], lines[1], '{"broken', lines[2], ''].join('\n'))
    const { url } = await serving(dir)
    const page = await open(url, 'r')
    await over(page)
    await counted(page, 2)
    expect(await page.locator('#link').innerText()).toContain('JOURNAL_MISMATCH')
  })

  test("sse() is read by the browser's own EventSource", async () => {
    const records = Array.from({ length: 300 }, (_, i) =>
      makeEvent(i + 1, { text: `a\r\nb\n\n${'é\u2028'.repeat(i)}` }),
    )
    const server = createServer((request, response) => {
      if (request.url === '/') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      pipeline(Readable.from(records), sse({ heartbeat: 1 }), response).catch(() => {})
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const page = await open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const got = await page.evaluate(`new Promise((resolve) => {
      const seen = []
      const source = new EventSource('/stream')
      source.addEventListener('agent.message.final', (message) => seen.push([message.lastEventId, message.data]))
      source.onerror = () => { source.close(); resolve(seen) }
    })`)
    expect(got).toEqual(records.map((record) => [`r1:${record.seq}`, JSON.stringify(record)]))
    server.close()
  })

  test('a session file is shown as it grows: prompts, tokens, its bytes; and that it is gone', async () => {
    const home = root()
    const file = join(home, '.claude/projects/-a/s.jsonl')
    mkdirSync(dirname(file), { recursive: true })
    const line = (uuid: string, role: string, more: object) =>
      `${JSON.stringify({ type: role, uuid, parentUuid: null, sessionId: 's', cwd: '/srv/here', message: { role, ...more } })}\n`
    const prompt = line('u1', 'user', { content: 'first line\n<b>second</b>' })
    writeFileSync(file, prompt)
    const { url } = await serving(root(), { sessions: { home } })
    const page = await open(url, 'session://claude/-a/s.jsonl')
    const asked = page.locator('article[data-kind=prompt] .asked')
    await asked.click()
    await page.keyboard.press('b')
    expect(await asked.innerText()).toBe('first line\n<b>second</b>')
    await expect.poll(() => page.evaluate(lit)).toBe(prompt)
    const usage = { input_tokens: 1200, output_tokens: 7 }
    const content = [{ type: 'text', text: 'Hello.' }]
    appendFileSync(file, line('u2', 'assistant', { id: 'm', model: 'x', content, usage }))
    await expect.poll(() => page.locator('#facts').innerText()).toContain('tokens: 1,200 in, 7 out')
    expect(await page.locator('.said').innerText()).toBe('Hello.')
    rmSync(file)
    await expect.poll(() => page.locator('#state').innerText(), { timeout: 60_000 }).toBe('no longer there')
    // The page asks once more for what is no longer there.
    for (const [at, problem] of pages.problems.entries())
      if (problem.includes('404')) pages.problems.splice(at, 1)
  })
})
