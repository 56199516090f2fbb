import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { afterEach, describe, expect, test } from 'vitest'
import { handler } from '../../src/serve/handler.ts'
import { built } from '../built.ts'
import { lines } from '../engines/run.ts'
import { chromiumPath, launch, needsBrowser } from '../serve/browser.ts'
import { ask, parseSse, putRun, root } from '../serve/serving.ts'

const folder = fileURLToPath(new URL('../../examples/servers/', import.meta.url))
const isInstalled = existsSync(join(folder, 'node_modules'))

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const message = (id: string, text: string) =>
  lines({ type: 'item.completed', item: { id, type: 'agent_message', text } })

/** Prints the first part at once, each other one when its file is there. */
const agent = `#!/bin/sh
cat > task
cat part0
for part in 1 2 3; do until [ -e go$part ]; do sleep 0.02; done; cat part$part; done
`
const parts = [
  lines({ type: 'thread.started', thread_id: 't' }, { type: 'turn.started' }) + message('a', 'one'),
  message('b', 'two'),
  message('c', 'three'),
  lines({ type: 'turn.completed', usage: {} }),
]

/** The example with the real package of its server, in a folder of its own, as its user has it. */
async function started(name: 'express' | 'fastify' | 'hono' | 'next') {
  const dir = root()
  const modules = join(dir, 'node_modules')
  mkdirSync(join(modules, 'agent-sluice'), { recursive: true })
  for (const entry of readdirSync(join(folder, 'node_modules')))
    symlinkSync(join(folder, 'node_modules', entry), join(modules, entry))
  const exports = { '.': './index.js', './serve': './serve.js' }
  writeFileSync(
    join(modules, 'agent-sluice/package.json'),
    JSON.stringify({ name: 'agent-sluice', type: 'module', exports }),
  )
  for (const entry of ['index', 'serve'])
    writeFileSync(
      join(modules, `agent-sluice/${entry}.js`),
      `export * from ${JSON.stringify(built(`src/${entry}.ts`))}\n`,
    )
  for (const file of readdirSync(folder))
    if (/\.(js|json)$/.test(file)) copyFileSync(join(folder, file), join(dir, file))
  const route = transformSync(readFileSync(join(folder, 'next-route.ts'), 'utf8'), { loader: 'ts' })
  writeFileSync(join(dir, 'next-route.js'), route.code)
  // A route of Next is a function for each method, of the Fetch API.
  writeFileSync(
    join(dir, 'next.js'),
    `import { serve } from '@hono/node-server'
     import * as route from './next-route.js'
     serve({ fetch: (request) => route[request.method](request), port: 0, hostname: '127.0.0.1' },
       ({ port }) => console.log('http://127.0.0.1:' + port))`,
  )
  writeFileSync(join(dir, 'codex'), agent, { mode: 0o755 })
  for (const [index, part] of parts.entries()) writeFileSync(join(dir, `part${index}`), part)
  const env = { ...process.env, PORT: '0', AGENT: join(dir, 'codex') }
  const child: ChildProcess = spawn(process.execPath, [`${name}.js`], { cwd: dir, env, stdio: 'pipe' })
  ends.push(
    () =>
      new Promise((done) => {
        child.once('exit', done)
        child.kill()
      }),
  )
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
        const found = /(http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1]
        if (found) resolve(found)
      })
    child.once('exit', () => reject(new Error(said)))
  })
  return { url, dir, go: (part: number) => writeFileSync(join(dir, `go${part}`), ''), said: () => said }
}

/** Reads messages until one of this type, or the end; then the client leaves. */
async function readTo(response: Response, type: string) {
  let text = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (parseSse(text).some(({ event }) => event === type)) break
  }
  return parseSse(text)
}

const needsPackages = isInstalled ? '' : ' (needs node scripts/packages-of.js examples/servers)'

describe.skipIf(!isInstalled)(`a server${needsPackages}`, () => {
  test.each(['express', 'fastify', 'hono', 'next'] as const)(
    'with %s starts a run by POST, and GET follows it through a broken line to its end',
    async (name) => {
      const { url, go } = await started(name)
      const answer = await fetch(`${url}/agents`, {
        method: 'POST',
        body: 'say three',
        headers: { 'content-type': 'text/plain' },
      })
      const id = await answer.text()
      expect([answer.status, id]).toEqual([202, expect.stringMatching(/^[\w-]{36}$/)])
      const chat = `${url}/agents/runs/${id}/chat`
      const follow = (last?: string) =>
        fetch(chat, {
          headers: { 'accept-encoding': 'gzip', ...(last === undefined ? {} : { 'last-event-id': last }) },
        })
      const first = await follow()
      expect([first.status, first.headers.get('content-encoding')]).toEqual([200, null])
      const before = await readTo(first, 'assistant.message.final')
      go(1)
      go(2)
      go(3)
      const after = await readTo(await follow(before.at(-1)!.id!), 'nothing')
      expect(after.at(-1)!.event).toBe('conversation.ended')
      expect(JSON.parse(after.at(-1)!.data).data).toMatchObject({ outcome: 'finished', text: 'three' })
      const all = await readTo(await follow(), 'nothing')
      expect([...before, ...after]).toEqual(all)
      expect((await follow(all.at(-1)!.id!)).status).toBe(204)
      expect((await fetch(`${url}/agents/runs/nobody/chat`)).status).toBe(404)
      const runs = (await (await fetch(`${url}/agents/runs`)).json()) as { run_id: string; outcome: string }[]
      expect(runs.map(({ run_id, outcome }) => [run_id, outcome])).toEqual([[id, 'finished']])
      // Next takes away the slash at the end of an address.
      const page = await fetch(`${url}/agents${name === 'next' ? '' : '/'}`)
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('page.js')])
    },
  )

  test('has two handlers, each at a base of its own', async () => {
    const dir = root()
    putRun(dir, 'r', 2)
    const { default: express } = await import(createRequire(join(folder, 'package.json')).resolve('express'))
    const [one, two] = ['/one', '/app/two'].map((base) =>
      handler({ dir, base, allow: () => base === '/app/two', page: true }),
    )
    const app = express()
    // Mounted where it answers, and where it has nothing to answer.
    app.use('/one', one)
    app.use('/app', one, two)
    app.use((_: unknown, response: ServerResponse) => response.end('mine'))
    const server = app.listen(0, '127.0.0.1')
    ends.push(() => server.close(), one!.close, two!.close)
    await once(server, 'listening')
    const url = `http://127.0.0.1:${server.address().port}`
    expect((await ask(`${url}/one/runs/r/events`)).status).toBe(403)
    expect(parseSse((await ask(`${url}/app/two/runs/r/events`)).text)).toHaveLength(2)
    for (const path of ['/two/runs', '/app/one/runs', '/app/runs', '/one/two/runs'])
      expect((await ask(url + path)).text).toBe('mine')
    await one!.close()
    expect((await ask(`${url}/one/runs`)).status).toBe(503)
    expect((await ask(`${url}/app/two`)).status).toBe(200)
  })

  test.skipIf(!chromiumPath)(
    `is followed by an EventSource that loses its line twice, and by a page that reloads${needsBrowser}`,
    async () => {
      const { url, go, dir } = await started('express')
      const { port, cut } = await lineTo(Number(new URL(url).port))
      const browser = await launch()
      ends.push(() => browser.close())
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${port}/`)
      await page.getByRole('button').click()
      const items = page.locator('li')
      await items.getByText('one').waitFor()
      cut()
      go(1)
      await items.getByText('two').waitFor()
      expect(await items.allTextContents()).toEqual(['one', 'two'])
      await page.reload()
      await items.getByText('two').waitFor()
      cut()
      go(2)
      await items.getByText('three').waitFor()
      expect(await items.allTextContents()).toEqual(['one', 'two', 'three'])
      go(3)
      await page.locator('p', { hasText: 'finished' }).waitFor()
      expect(readdirSync(join(dir, '.audit')).filter((name) => /^\d/.test(name))).toHaveLength(1)
    },
  )
})

/** A line to the server that can be cut. */
async function lineTo(port: number) {
  const sockets = new Set<Socket>()
  const line = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>((done) => line.listen(0, '127.0.0.1', done))
  ends.push(() => {
    line.close()
    for (const socket of sockets) socket.destroy()
  })
  const address = line.address()
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  return { port: typeof address === 'object' ? address?.port : undefined, cut }
}
