import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { ask, parseSse, putRun, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

const token = 'correct-horse-battery'

/** Sends the form of the login. */
async function login(url: string, given: string, headers: Record<string, string> = {}) {
  const sent = request(`${url}login`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
  sent.end(new URLSearchParams({ token: given }).toString())
  const [response] = await once(sent, 'response')
  response.resume()
  return {
    status: response.statusCode as number,
    headers: response.headers as Record<string, string | string[]>,
  }
}

describe('a server with a token', () => {
  test('answers nothing about the runs without it, and everything with it', async () => {
    const dir = root()
    putRun(dir, 'r', 2)
    const { url } = await serving(dir, { token })
    const paths = [
      '',
      'runs',
      'runs/r',
      'runs/r/events',
      'runs/r/chat',
      'runs/r/raw/stdout',
      'page.js',
      'nowhere',
    ]
    const wrong: { authorization?: string; cookie?: string }[] = [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token}x` },
      { cookie: `sluice=${token}` },
      { cookie: `sluice_1=${token}` },
    ]
    // Wrong tokens take their time.
    for (const path of paths)
      for (const headers of path === 'runs'
        ? wrong
        : wrong.filter((one) => one.authorization === undefined)) {
        const answer = await ask(url + path, headers)
        expect([path, answer.status]).toEqual([path, 401])
        expect(answer.text).not.toContain(token)
      }
    // Not in an address either: those are written into logs.
    expect((await ask(`${url}runs?token=${token}`)).status).toBe(401)
    for (const path of paths.slice(0, -1))
      expect((await ask(url + path, { authorization: `Bearer ${token}` })).status).toBe(200)
    // Without the token it says that the server runs, and counts nothing.
    expect(await ask(`${url}healthz`)).toMatchObject({ status: 200, text: '{"ok":true}\n' })
    expect((await ask(`${url}healthz`, { authorization: `Bearer ${token}` })).text).toContain('"clients":')
    expect((await ask(`${url}healthz`, { authorization: 'Bearer wrong' })).status).toBe(401)
  })

  test('gives a cookie for the right token, which is not the token', async () => {
    const dir = root()
    putRun(dir, 'r', 1)
    const { url, port } = await serving(dir, { token })
    const wrong = await login(url, 'wrong')
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined])
    const right = await login(url, token)
    expect([right.status, right.headers['location']]).toEqual([303, '/'])
    const [cookie = ''] = right.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/)
    expect(cookie).not.toContain(token)
    const [pair = ''] = cookie.split(';')
    expect(pair.startsWith(`sluice_${port}=`)).toBe(true)
    expect((await ask(`${url}runs`, { cookie: `other=1; ${pair}` })).status).toBe(200)
    expect((await ask(`${url}runs`, { cookie: `${pair}0` })).status).toBe(401)
    // A form of another site, and a body without end.
    expect((await login(url, token, { origin: 'http://evil.example' })).status).toBe(403)
    expect((await login(url, 'x'.repeat(10_000))).status).toBe(401)
  })

  /** Asks from an address of this machine, with a token; the status, and how many milliseconds it took. */
  async function askFrom(localAddress: string, url: string, given: string, headers = {}) {
    const start = performance.now()
    const sent = request(`${url}runs`, {
      ...{ localAddress, agent: false },
      headers: { authorization: `Bearer ${given}`, ...headers },
    }).end()
    const [response] = await once(sent, 'response')
    response.resume()
    return { status: response.statusCode as number, ms: performance.now() - start }
  }

  test('a wrong token costs half a second, also of many at once, and only the address it came from', async () => {
    const { url } = await serving(root(), { token })
    const guess = () => askFrom('127.0.0.1', url, 'wrong-wrong-wrong')
    const began = performance.now()
    const form = login(url, 'wrong')
    const guesses = Array.from({ length: 3 }, guess)
    const others = await Promise.all([
      askFrom('127.0.0.2', url, token),
      askFrom('127.0.0.1', url, token),
      askFrom('127.0.0.3', url, 'wrong-too'),
    ])
    expect(others.map(({ status }) => status)).toEqual([200, 200, 401])
    // Those before it have not been answered yet.
    expect(performance.now() - began).toBeLessThan(1500)
    const slow = await Promise.all(guesses)
    expect(slow.map(({ status }) => status)).toEqual([401, 401, 401])
    expect((await form).status).toBe(401)
    expect(performance.now() - began).toBeGreaterThan(1990)
  })

  test('an address with many wrong tokens gets none checked until they are answered', async () => {
    const { url } = await serving(root(), { token })
    const { headers } = await login(url, token)
    const cookie = String(headers['set-cookie']).split(';')[0]!
    const guesses = Array.from({ length: 40 }, () => askFrom('127.0.0.1', url, 'wrong-wrong-wrong'))
    const answered = (await Promise.race(guesses)).status
    expect(answered).toBe(429)
    expect((await askFrom('127.0.0.1', url, token)).status).toBe(429)
    expect((await askFrom('127.0.0.1', url, 'wrong', { cookie })).status).toBe(200)
    expect((await askFrom('127.0.0.2', url, token)).status).toBe(200)
    await shutAll()
    await Promise.allSettled(guesses)
  })

  test('a token that could be guessed, or not be sent, is refused', async () => {
    for (const bad of ['', 'short', 'with blanks in the middle', 'ünïcödé-ünïcödé-ünïcödé'])
      await expect(serving(root(), { token: bad })).rejects.toThrow('at least 16 characters')
  })

  test('the message of a refusal never has the token in it', async () => {
    const failure = await serving(root(), { token: 'a secret with blanks' }).catch((error: Error) => error)
    expect(String(failure)).not.toContain('a secret')
  })
})

test('an address that others can reach needs a token, or the word that it is fine', async () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', 'example.org'])
    await expect(serving(root(), { host })).rejects.toThrow('--insecure')
  const open = await serving(root(), { host: '0.0.0.0', insecure: true })
  expect((await fetch(`http://127.0.0.1:${open.port}/runs`)).status).toBe(200)
  const guarded = await serving(root(), { host: '0.0.0.0', token })
  expect((await fetch(`http://127.0.0.1:${guarded.port}/runs`)).status).toBe(401)
  await serving(root(), { host: '127.0.0.2' })
  await serving(root(), { host: 'localhost' })
})

describe('/runs/:id/chat', () => {
  test('streams chat records, resumes after an id and says when there are no more', async () => {
    const dir = root()
    putRun(dir, 'r', 5, { attempts: 2 })
    const { url } = await serving(dir)
    const { text, headers } = await ask(`${url}runs/r/chat`)
    expect(headers['content-type']).toContain('text/event-stream')
    const messages = parseSse(text)
    const records = messages.map(({ data }) => JSON.parse(data))
    expect(records.length).toBeGreaterThanOrEqual(10)
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
    expect(new Set(records.map(({ protocol_version }) => protocol_version))).toEqual(new Set(['fcmp/1.0']))
    expect(messages[3]?.id).toBe('r:4')
    const rest = parseSse((await ask(`${url}runs/r/chat`, { 'last-event-id': 'r:4' })).text)
    expect(rest.map(({ data }) => data)).toEqual(messages.slice(4).map(({ data }) => data))
    const last = messages.at(-1)!.id!
    expect((await ask(`${url}runs/r/chat?after=${last}`)).status).toBe(204)
    const foreign = parseSse((await ask(`${url}runs/r/chat?after=other:3`)).text)
    expect(foreign[0]?.event).toBe('sluice.reset')
    expect(foreign).toHaveLength(messages.length + 1)
  })
})
