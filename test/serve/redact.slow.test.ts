import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { makeEvent } from '../disk/make-event.ts'
import { codexLines } from '../run/agent.ts'
import { plantedSecrets } from '../views/secrets.ts'
import { ask, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

const secrets = plantedSecrets(3)
const leaked = (text: string) =>
  secrets.filter(({ secret }) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)))

/** A run with a journal and a log that both have every secret. */
function putSecrets(dir: string): string {
  const path = join(dir, 'a')
  mkdirSync(path)
  const events = secrets.flatMap(({ line }, i) => {
    const of = (type: string, data: object, seq: number) => ({
      ...makeEvent(seq, { run: 'a' }),
      type,
      event: { category: type.split('.')[0], type },
      data,
    })
    const half = Math.ceil(line.length / 2)
    return [
      of('agent.message.delta', { message_id: `m${i}`, text: line.slice(0, half) }, 4 * i + 1),
      of('agent.message.delta', { message_id: `m${i}`, text: line.slice(half) }, 4 * i + 2),
      of('agent.message.final', { message_id: `m${i}`, text: line }, 4 * i + 3),
      of('tool.call.completed', { call_id: 'c', name: 'Bash', output: { stdout: [line] } }, 4 * i + 4),
    ]
  })
  writeFileSync(join(path, 'events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  writeFileSync(join(path, 'stdout.1.log'), secrets.map(({ line }) => `${line}\n`).join(''))
  const argv = ['codex', 'exec', `use ${secrets[0]!.secret}`, '--password', 'letmein99']
  writeFileSync(
    join(path, 'meta.1.json'),
    JSON.stringify({
      run_id: 'a',
      attempt_number: 1,
      argv,
      started_at: '2026-01-01T00:00:00.000Z',
      ended_at: '2026-01-01T00:00:01.000Z',
    }),
  )
  return path
}

test('with redact, no secret leaves: neither in events, nor in chat records and other views, nor in the list', async () => {
  const dir = root()
  putSecrets(dir)
  const { url } = await serving(dir, { redact: true })
  const parts = ['runs', 'runs/a', 'runs/a/events', 'runs/a/chat', 'runs/a/ag-ui', 'runs/a/ai-sdk']
  const answers = await Promise.all(parts.map((part) => ask(`${url}${part}`)))
  const [list, one, events] = answers
  for (const { status, text } of answers) {
    expect([status, leaked(text)]).toEqual([200, []])
    expect(text).toContain('[redacted:')
  }
  expect(list!.text).not.toContain('letmein99')
  expect(JSON.parse(one!.text)).toMatchObject({ raw_hidden: true, streams: [{ stream: 'stdout' }] })
  // The pieces of messages have no text.
  const texts = [...events!.text.matchAll(/"type":"agent.message.delta".*?"text":"(.*?)"/g)].map(
    (match) => match[1],
  )
  expect(new Set(texts)).toEqual(new Set(['']))
  // A client that comes back gets the same.
  const again = await ask(`${url}runs/a/events`, { 'last-event-id': 'a:8' })
  expect(events!.text.endsWith(again.text.slice(-500))).toBe(true)
})

test('with redact, no raw byte leaves: every stream, range and attempt is refused, with what to do instead', async () => {
  const dir = root()
  const path = putSecrets(dir)
  // Bytes are not searched, however a key is cut in them.
  const { secret } = secrets.find(({ kind }) => kind === 'github')!
  const colored = `${secret.slice(0, 9)}\u001b[1m${secret.slice(9)}\n`
  for (const name of ['stdout.2.log', 'stderr.2.log', 'pty-output.2.log'])
    writeFileSync(join(path, name), colored)
  const { url } = await serving(dir, { redact: true })
  for (const stream of ['stdout', 'stderr', 'pty']) {
    for (const query of ['', '?from=0&to=10', '?attempt=1', '?attempt=2&from=3', '?attempt=9', '?from=x']) {
      const { status, text, headers } = await ask(`${url}runs/a/raw/${stream}${query}`)
      expect([stream, query, status]).toEqual([stream, query, 403])
      expect(text).toMatch(/sends no raw bytes; read the events, or start it without --redact/)
      expect(headers['x-total-bytes']).toBe(undefined)
    }
  }
  // The header `Range` asks for nothing here.
  expect((await ask(`${url}runs/a/raw/stdout`, { range: 'bytes=0-9' })).status).toBe(403)
  expect((await ask(`${url}runs/b/raw/stdout`)).status).toBe(404)
  expect((await ask(`${url}runs/a/raw/other`)).status).toBe(404)
})

/** Lines of a private key; the last one is short, as they are. */
const pem = [
  '-----BEGIN RSA PRIVATE KEY-----',
  'MIIEpAIBAAKCAQEAx1Yq8vT0Zk3Jw9Lr2Nf6Hs4Bd7Gp5Xc1Um0Ea8Ti3Ko6Wy9Q',
  'qL5zN2xV8cB4mK7jH1gF6dS3aP0oI9uY2tR5eW8qZ4xC7vB1nM6lK3jH0gF9dS2a',
  'Tz8Kw3Vb6Qm1Rn==',
  '-----END RSA PRIVATE KEY-----',
]

test.each(['stdout', 'stderr', 'pty'])(
  'a private key that is printed on %s, line by line, leaves nowhere',
  async (channel) => {
    const dir = root()
    const path = join(dir, 'a')
    mkdirSync(path)
    const agent = `${codexLines.join('\n')}\n`
    const file = channel === 'pty' ? 'pty-output.log' : `${channel}.log`
    if (channel !== 'stdout') writeFileSync(join(path, 'stdout.log'), agent)
    const before =
      channel === 'stderr'
        ? ''
        : codexLines
            .slice(0, 2)
            .map((line) => `${line}\n`)
            .join('')
    const end = channel === 'pty' ? '\r\n' : '\n'
    writeFileSync(join(path, file), `${before}cat id_rsa${end}${pem.join(end)}${end}done${end}`)
    for (const name of ['stdout.log', file]) utimesSync(join(path, name), 1000, 1000)
    const { url } = await serving(dir, { redact: true })
    const seen = (text: string) => pem.slice(1, -1).filter((line) => text.includes(line.slice(0, 12)))
    for (const part of ['events', 'chat', 'ag-ui', 'ai-sdk', `raw/${channel}`, 'export.html', 'export.md']) {
      const { status, text } = await ask(`${url}runs/a/${part}`)
      expect([part, status, seen(text)]).toEqual([part, part.startsWith('raw') ? 403 : 200, []])
      expect(text).not.toContain('"base64":')
    }
  },
)

test('gives a run as one file, always without its secrets', async () => {
  const dir = root()
  putSecrets(dir)
  const { url } = await serving(dir)
  for (const name of ['export.html', 'export.md']) {
    const { status, text, headers } = await ask(`${url}runs/a/${name}`)
    expect([status, leaked(text)]).toEqual([200, []])
    expect(text).not.toContain('"base64":')
    expect(headers['content-disposition']).toBe(`attachment; filename="run.${name.slice(7)}"`)
    expect(text).toMatch(name.endsWith('html') ? /<\/html>\n$/ : /^## /)
  }
  mkdirSync(join(dir, 'b'))
  writeFileSync(join(dir, 'b', 'events.jsonl'), `${JSON.stringify(makeEvent(1, { run: 'b' }))}\n`)
  expect((await ask(`${url}runs/b/export.html`)).status).toBe(404)
})

test('without redact everything is as it is', async () => {
  const dir = root()
  putSecrets(dir)
  const { url } = await serving(dir)
  for (const part of ['events', 'raw/stdout'])
    expect(leaked((await ask(`${url}runs/a/${part}`)).text).length).toBe(secrets.length)
  expect((await ask(`${url}runs`)).text).not.toContain('raw_hidden')
})
