import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { chat, type Run, sse } from '../../src/index.ts'
import { run } from '../../src/run/run.ts'
import { type Handler, type HandlerOptions, handler } from '../../src/serve/handler.ts'
import { built } from '../built.ts'
import { lines } from '../engines/run.ts'
import { chromiumPath, launch, needsBrowser } from './browser.ts'
import { ask, parseSse, putRun, root } from './serving.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function handling(dir: string, options: Partial<HandlerOptions> = {}): Handler {
  const made = handler({ dir, allow: () => true, ...options })
  ends.push(() => made.close())
  return made
}

/** The address of a server with this listener. */
async function listening(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  ends.push(
    () =>
      new Promise((done) => {
        server.close(done)
        server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const begun = lines({ type: 'thread.started', thread_id: 't' }, { type: 'turn.started' })
const over = lines(
  { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Done.' } },
  { type: 'turn.completed', usage: {} },
)

/** An agent that begins when the file `begin` is there, and ends when `end` is. */
function agentIn(dir: string, more: object = {}) {
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'begun'), begun)
  writeFileSync(join(dir, 'over'), over)
  const script =
    'until [ -e begin ]; do sleep 0.02; done; cat begun; until [ -e end ]; do sleep 0.02; done; cat over'
  const agent = run('sh', ['-c', script], { engine: 'codex', cwd: dir, runs: join(dir, 'runs'), ...more })
  agent.end.catch(() => {})
  ends.push(() => {
    agent.kill('SIGKILL')
    return agent.end
  })
  return Object.assign(agent, { go: (what: 'begin' | 'end') => writeFileSync(join(dir, what), '') })
}

/** Reads a stream of the Fetch API until it has so many messages, or ends. */
async function messages(response: Response, count = Number.POSITIVE_INFINITY) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (parseSse(text).length < count) {
    const { done, value } = await reader.read()
    if (done) break
    text += value
  }
  await reader.cancel()
  return parseSse(text)
}

const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers })

describe('a run that has just been started', () => {
  test('is opened by its folder and by its run id, before its first event, and followed to its end', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'), { base: '/agents' })
    const agent = agentIn(dir)
    const folder = agent.audit!.split('/').at(-1)!
    const streams = await Promise.all(
      [agent.runId, folder].map((id) => runs.fetch(get(`/agents/runs/${id}/chat`))),
    )
    expect(streams.map(({ status }) => status)).toEqual([200, 200])
    agent.go('begin')
    agent.go('end')
    for (const stream of streams) {
      const seen = await messages(stream)
      const { type, data } = JSON.parse(seen.at(-1)!.data)
      expect([type, data]).toEqual([
        'conversation.ended',
        { outcome: 'finished', ok: true, text: 'Done.', tokens: data.tokens },
      ])
      const again = await runs.fetch(
        get(`/agents/runs/${folder}/chat`, { 'last-event-id': seen.at(-1)!.id! }),
      )
      expect(again.status).toBe(204)
    }
    const end = await agent.end
    expect([end.audit, end.outcome]).toEqual([agent.audit, 'finished'])
  })

  test('has a run id of any characters, and two that start at once are two', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    const ids = ['a/b c%2F?#ü', 'x:1']
    const agents = ids.map((runId) => agentIn(dir, { runId }))
    agents[0]!.go('begin')
    agents[0]!.go('end')
    for (const id of ids) {
      const seen = await messages(await runs.fetch(get(`/runs/${encodeURIComponent(id)}/events`)))
      expect(new Set(seen.map(({ data }) => JSON.parse(data).run_id))).toEqual(new Set([id]))
      expect(seen.at(-1)!.event).toBe('lifecycle.completion.state')
    }
    expect((await runs.fetch(get('/runs/nobody/events'))).status).toBe(404)
  })

  test('whose command cannot be started has an end, for who follows it and who comes later', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    const agent = run('no-such-agent', [], { prompt: 'fix it', runs: join(dir, 'runs') })
    const open = await runs.fetch(get(`/runs/${agent.runId}/chat`))
    await expect(agent.end).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
    const problem = 'cannot start "no-such-agent": no such command; is it installed and on PATH?'
    for (const response of [open, await runs.fetch(get(`/runs/${agent.runId}/chat`))]) {
      const seen = await messages(response)
      expect(JSON.parse(seen.at(-1)!.data)).toMatchObject({
        type: 'conversation.ended',
        data: { outcome: 'failed', ok: false, problem },
      })
    }
    // A list is reused for half a second: another server has none yet.
    const [listed] = (await (await handling(join(dir, 'runs')).fetch(get('/runs'))).json()) as object[]
    expect(listed).toMatchObject({ outcome: 'failed', problem, attempts: 1, task: 'fix it' })
  })

  test('goes on when its reader leaves, and the reader comes back without loss', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    const agent = agentIn(dir)
    agent.go('begin')
    const seen = await messages(await runs.fetch(get(`/runs/${agent.runId}/chat`)), 1)
    agent.go('end')
    const rest = await messages(
      await runs.fetch(get(`/runs/${agent.runId}/chat`, { 'last-event-id': seen.at(-1)!.id! })),
    )
    expect((await agent.end).outcome).toBe('finished')
    const all = await messages(await runs.fetch(get(`/runs/${agent.runId}/chat`)))
    expect([...seen, ...rest]).toEqual(all)
  })

  test('whose recorder is killed is told to its end, and then a client that comes back gets 204', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    const url = await listening((request, response) => runs(request, response))
    writeFileSync(join(dir, 'begun'), begun)
    const script = 'cat begun; until [ -e end ]; do sleep 0.02; done; echo late'
    const words = ['run', '--engine', 'codex', '--audit', 'runs/r', '--', 'sh', '-c', script]
    const recorder = spawn(process.execPath, [built('src/cli/main.ts'), ...words], {
      cwd: dir,
      stdio: 'ignore',
    })
    const gone = once(recorder, 'exit')
    ends.push(async () => {
      writeFileSync(join(dir, 'end'), '')
      recorder.kill('SIGKILL')
      await gone
    })
    const open = await Promise.all(
      ['events', 'chat'].map(async (format) => {
        const path = `${url}/runs/r/${format}`
        const response = await vi.waitFor(
          async () => {
            const found = await fetch(path)
            expect(found.status).toBe(200)
            return found
          },
          { timeout: 20_000 },
        )
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        while (parseSse(text).length === 0) text += (await reader.read()).value ?? ''
        return { path, reader, text }
      }),
    )
    recorder.kill('SIGKILL')
    await gone
    // The agent outlives it, and the run goes on as long.
    writeFileSync(join(dir, 'end'), '')
    for (const { path, reader, text } of open) {
      let all = text
      for (let read = await reader.read(); !read.done; read = await reader.read()) all += read.value
      const seen = parseSse(all)
      expect(all).toContain('late')
      const end = path.endsWith('chat') ? 'conversation.ended' : 'lifecycle.completion.state'
      expect(seen.at(-1)!.event).toBe(end)
      expect((await ask(path, { 'last-event-id': seen.at(-1)!.id! })).status).toBe(204)
      expect(parseSse((await ask(path)).text)).toEqual(seen)
    }
  })
})

describe('a client over HTTP that leaves', () => {
  /** Asks, waits for the first bytes, and leaves. */
  const leaves = async (url: string) => {
    const leave = new AbortController()
    const response = await fetch(url, { signal: leave.signal })
    await response.body!.getReader().read()
    leave.abort()
  }

  test('changes nothing for a run that the handler shows', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    let left: Promise<unknown> | undefined
    const url = await listening((request, response) => {
      left = once(response, 'close')
      runs(request, response)
    })
    const agent = agentIn(dir)
    agent.go('begin')
    await leaves(`${url}/runs/${agent.runId}/chat`)
    await left
    agent.go('end')
    expect((await agent.end).outcome).toBe('finished')
  })

  test('ends a run that is piped to it', async () => {
    const dir = root()
    writeFileSync(join(dir, 'begun'), begun)
    let agent: Run | undefined
    const url = await listening((_, response) => {
      agent = run('sh', ['-c', 'cat begun; sleep 1007'], { engine: 'codex', cwd: dir })
      pipeline(agent, chat(), sse(), response).catch(() => {})
    })
    await leaves(url)
    expect((await agent!.end).outcome).toBe('cancelled')
  })
})

describe('in a server', () => {
  test('takes what is below its base, and passes on the rest', async () => {
    const dir = root()
    putRun(dir, 'r', 3)
    const runs = handling(dir, { base: '/agents/', page: true })
    const passed: string[] = []
    const url = await listening((request, response) =>
      runs(request, response, () => {
        passed.push(`${request.method} ${request.url}`)
        response.end('mine')
      }),
    )
    expect((await ask(`${url}/agents/runs`)).text).toContain('"id":"r"')
    expect(parseSse((await ask(`${url}/agents/runs/r/events`)).text)).toHaveLength(3)
    for (const path of ['/', '/runs', '/agents2/runs', '/agents/mine', '//agents/runs'])
      expect((await ask(url + path)).text).toBe('mine')
    expect(await (await fetch(`${url}/agents/runs`, { method: 'POST' })).text()).toBe('mine')
    expect(passed).toHaveLength(6)
  })

  test('has its page with and without a slash at the end of the address', async () => {
    const runs = handling(root(), { base: '/a/b&lt;c:d', page: true })
    const url = await listening((request, response) => runs(request, response))
    for (const path of ['/a/b&lt;c:d', '/a/b&lt;c:d/']) {
      const page = await fetch(url + path)
      expect([page.url, page.redirected]).toEqual([url + path, false])
      const files = [...(await page.text()).matchAll(/(?:href|src)="([^"#]+)"/g)]
      expect(files).toHaveLength(3)
      for (const [, file] of files) {
        const target = new URL(file!.replaceAll('&amp;', '&'), page.url)
        expect([target.pathname, (await fetch(target)).status]).toEqual([
          expect.stringMatching(/^\/a\/b&lt;c:d\//),
          200,
        ])
      }
    }
  })

  test.skipIf(!chromiumPath)(
    `that takes away such a slash, the page shows the runs, and reloads${needsBrowser}`,
    async () => {
      const dir = root()
      putRun(dir, 'r', 3)
      const runs = handling(dir, { base: '/agents', page: true })
      const url = await listening((request, response) => {
        if (!request.url!.endsWith('/')) return runs(request, response)
        response.writeHead(308, { location: request.url!.slice(0, -1) }).end()
      })
      const browser = await launch()
      ends.push(() => browser.close())
      const page = await browser.newPage()
      await page.goto(`${url}/agents/`)
      const opened = page.getByText('message 3', { exact: true }).first()
      await opened.waitFor()
      await page.reload()
      await opened.waitFor()
      expect(page.url()).toBe(`${url}/agents#run/r`)
    },
  )

  test('alone answers 404 and 405, and without the page there is none', async () => {
    const runs = handling(root(), { base: '/agents' })
    const url = await listening((request, response) => runs(request, response))
    expect((await ask(`${url}/`)).status).toBe(404)
    expect((await ask(`${url}/agents/`)).status).toBe(404)
    for (const method of ['POST', 'HEAD', 'OPTIONS']) {
      const { status, headers } = await fetch(`${url}/agents/runs`, { method })
      expect([status, headers.get('allow')]).toEqual([405, 'GET'])
    }
  })

  test('matches its base on the address as it came', async () => {
    const dir = root()
    putRun(dir, 'r', 1)
    const runs = handling(dir, { base: '/app/agents' })
    const url = await listening((request, response) => {
      // As a framework does where a handler is mounted.
      Object.assign(request, { originalUrl: request.url, url: request.url!.slice('/app'.length) })
      runs(request, response)
    })
    expect((await ask(`${url}/app/agents/runs/r`)).status).toBe(200)
  })

  test('a directory that is not there yet has no runs, until it has', async () => {
    const dir = join(root(), 'later')
    const { fetch } = handling(dir)
    expect(await (await fetch(get('/runs'))).json()).toEqual([])
    putRun(dir, 'r', 1)
    expect((await fetch(get('/runs/r/events'))).status).toBe(200)
    expect(existsSync(dir)).toBe(true)
  })
})

describe('who may read', () => {
  test.each([
    ['false', () => false, 403],
    ['what is not true', () => 'yes' as unknown as boolean, 403],
    ['a promise of true', async () => true, 200],
    ['a promise of false', async () => false, 403],
  ])('is decided by allow: %s', async (_, allow, status) => {
    const runs = handling(root(), { allow })
    expect((await runs.fetch(get('/runs'))).status).toBe(status)
    const url = await listening((request, response) => runs(request, response))
    expect((await ask(`${url}/runs`)).status).toBe(status)
  })

  test('a throw is a 500 that tells nothing, and a warning that does', async () => {
    const told = new Promise<Error>((resolve) => process.once('warning', resolve))
    const runs = handling(root(), {
      allow: () => {
        throw new Error('the database is at 10.0.0.5')
      },
    })
    const response = await runs.fetch(get('/runs'))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('10.0.0.5')
    expect((await told).message).toContain('10.0.0.5')
  })

  test('is asked with the request as it came, and the id in its path', async () => {
    const asked: unknown[] = []
    const runs = handling(root(), {
      allow: (request, id) => {
        asked.push(request instanceof Request ? request.headers.get('cookie') : request.headers.cookie, id)
        return false
      },
    })
    await runs.fetch(get('/runs/a%2Fb/chat', { cookie: 'me' }))
    const url = await listening((request, response) => runs(request, response))
    await ask(`${url}/runs`, { cookie: 'you' })
    expect(asked).toEqual(['me', 'a/b', 'you', undefined])
  })

  test('must be said', () => {
    // @ts-expect-error: without allow
    expect(() => handler({ dir: '.' })).toThrow('allow')
    expect(() => handler({ dir: '.', allow: () => true, base: 'agents' })).toThrow('base must be a path')
    expect(() => handler({ dir: '.', allow: () => true, base: '/a?b' })).toThrow('base must be a path')
  })
})

describe('a client', () => {
  test('that cancels the body of its answer is counted no more', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'), { maxClients: 1 })
    const agent = agentIn(dir)
    const url = `/runs/${agent.runId}/events`
    /** A stream, as soon as the one before is not counted any more. */
    const next = () =>
      vi.waitFor(async () => {
        const response = await runs.fetch(get(url))
        expect(response.status).toBe(200)
        return response
      })
    for (let round = 0; round < 3; round++) await (await next()).body!.cancel()
    const leave = new AbortController()
    const request = new Request(`http://localhost${url}`, { signal: leave.signal })
    const response = await vi.waitFor(async () => {
      const answer = await runs.fetch(request)
      expect(answer.status).toBe(200)
      return answer
    })
    expect((await runs.fetch(get(url))).status).toBe(503)
    leave.abort()
    await expect(response.text()).rejects.toThrow()
    await next()
  })

  test('that does not read is dropped, and others get everything', async () => {
    const dir = root()
    putRun(dir, 'r', 20_000)
    const runs = handling(dir, { maxStall: 100 })
    const slow = await runs.fetch(get('/runs/r/events'))
    expect(await messages(await runs.fetch(get('/runs/r/events')))).toHaveLength(20_000)
    await expect(slow.body!.getReader().closed).rejects.toThrow('cut')
  })

  test('may be one of a hundred over one address, and closing the handler ends them all', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    const agent = agentIn(dir)
    agent.go('begin')
    const url = await listening((request, response) => runs(request, response))
    const responses = await Promise.all(
      Array.from(
        { length: 100 },
        () =>
          new Promise<IncomingMessage>((resolve, reject) => {
            send(`${url}/runs/${agent.runId}/chat`, { agent: false }, resolve).on('error', reject).end()
          }),
      ),
    )
    const texts = responses.map(async (response) => {
      let text = ''
      for await (const piece of response) text += piece
      return parseSse(text).length
    })
    await runs.close()
    expect(await Promise.all(texts)).toHaveLength(100)
    expect((await ask(`${url}/runs`)).status).toBe(503)
    agent.go('end')
    expect((await agent.end).outcome).toBe('finished')
  })

  test('gets headers that no proxy waits with, before there is an event', async () => {
    const dir = root()
    const runs = handling(join(dir, 'runs'))
    const agent = agentIn(dir)
    const url = await listening((request, response) => runs(request, response))
    for (const format of ['events', 'chat', 'ag-ui', 'ai-sdk']) {
      const leave = new AbortController()
      const { headers } = await fetch(`${url}/runs/${agent.runId}/${format}`, { signal: leave.signal })
      leave.abort()
      expect(headers.get('content-type')).toContain('text/event-stream')
      expect(headers.get('cache-control')).toContain('no-transform')
      expect(headers.get('x-accel-buffering')).toBe('no')
    }
  })

  test('may speak HTTP/2, and give orders over it', async () => {
    const dir = root()
    putRun(dir, 'r', 30)
    const runs = handling(dir, { control: true })
    const server = http2.createServer((request, response) =>
      // Cast: the compatibility API has what is used of these.
      runs(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    )
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = http2.connect(url)
    ends.push(async () => {
      client.destroy()
      await new Promise((done) => server.close(done))
    })
    const asked = async (path: string, headers: object = {}, body?: string) => {
      const stream = client.request({ ':path': path, ...headers }, { endStream: body === undefined })
      if (body !== undefined) stream.end(body)
      const [head] = await once(stream, 'response')
      let text = ''
      for await (const piece of stream.setEncoding('utf8')) text += piece
      return { status: head[':status'], text }
    }
    expect(parseSse((await asked('/runs/r/events')).text)).toHaveLength(30)
    const order = (origin: string) => ({ ':method': 'POST', 'content-type': 'application/json', origin })
    expect(await asked('/runs/r/control', order('http://evil.example'), '{"do":"stop"}')).toMatchObject({
      status: 403,
    })
    expect(await asked('/runs/r/control', order(url), '{"do":"stop"}')).toMatchObject({ status: 409 })
  })
})
