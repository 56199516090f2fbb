import { appendFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { LOCK_FILE } from '../../src/disk/journal.ts'
import { takeLock } from '../../src/disk/lock.ts'
import { hiddenLog } from '../../src/serve/hidden-log.ts'
import { redactor } from '../../src/views/redact/redact.ts'
import { makeEvent } from '../disk/make-event.ts'
import { slow } from '../pace.ts'
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

test('with redact, no secret leaves: neither in events, nor in chat records and other views, nor in bytes, nor in the list', async () => {
  const dir = root()
  const path = putSecrets(dir)
  const { url } = await serving(dir, { redact: true })
  const parts = ['runs', 'runs/a/events', 'runs/a/raw/stdout', 'runs/a/chat', 'runs/a/ag-ui', 'runs/a/ai-sdk']
  const answers = await Promise.all(parts.map((part) => ask(`${url}${part}`)))
  const [list, events, raw] = answers
  for (const { status, text } of answers) {
    expect([status, leaked(text)]).toEqual([200, []])
    expect(text).toContain('[redacted:')
  }
  expect(list!.text).not.toContain('letmein99')
  expect(raw!.text).toHaveLength(readFileSync(join(path, 'stdout.1.log')).length)
  // The pieces of messages have no text.
  const texts = [...events!.text.matchAll(/"type":"agent.message.delta".*?"text":"(.*?)"/g)].map(
    (match) => match[1],
  )
  expect(new Set(texts)).toEqual(new Set(['']))
  // A client that comes back gets the same.
  const again = await ask(`${url}runs/a/events`, { 'last-event-id': 'a:8' })
  expect(events!.text.endsWith(again.text.slice(-500))).toBe(true)
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
      expect([part, status, seen(text)]).toEqual([part, 200, []])
      for (const [, base64 = ''] of text.matchAll(/"base64":"([^"]*)"/g))
        expect(seen(Buffer.from(base64, 'base64').toString())).toEqual([])
    }
  },
)

/**
 * Lines of an engine that no one else has, with a secret cut in two, and the events that tell their pieces.
 */
function ownPieces() {
  const { secret } = secrets.find(({ kind }) => kind === 'github')!
  const lines = [secret.slice(0, 15), secret.slice(15)].map((piece) => `say ${piece}\n`)
  let at = 'hello\n'.length
  const events = lines.map((line, i) => {
    const raw_ref = {
      attempt_number: 1,
      stream: 'stdout',
      byte_from: at,
      byte_to: at + line.length,
      encoding: 'utf-8',
    }
    at += line.length
    const type = 'agent.message.delta'
    const event = {
      ...makeEvent(i + 1, { run: 'a' }),
      type,
      event: { category: 'agent', type },
      source: { engine: 'mine', parser: 'mine', confidence: 1 },
      data: { message_id: 'm', text: line.slice(4, -1) },
      raw_ref,
    }
    return `${JSON.stringify(event)}\n`
  })
  return { lines, events, stars: lines.map((line) => `${'*'.repeat(line.length - 1)}\n`) }
}

test('an engine of the user’s own has records of any shape: the bytes of its pieces go as a whole', async () => {
  const dir = root()
  const path = join(dir, 'a')
  mkdirSync(path)
  const { lines, events, stars } = ownPieces()
  const log = `hello\n${lines.join('')}bye\n`
  const shown = `hello\n${stars.join('')}bye\n`
  writeFileSync(join(path, 'events.jsonl'), events.join(''))
  writeFileSync(join(path, 'stdout.1.log'), log)
  writeFileSync(join(path, 'pty-output.1.log'), log.replaceAll('\n', '\r\n'))
  const { url } = await serving(dir, { redact: true })
  expect((await ask(`${url}runs/a/raw/stdout`)).text).toBe(shown)
  expect((await ask(`${url}runs/a/raw/stdout?from=8&to=20`)).text).toBe(shown.slice(8, 20))
  expect((await ask(`${url}runs/a/raw/pty`)).text).not.toContain('say')
  // The header `Range` asks for nothing here.
  const ranged = await ask(`${url}runs/a/raw/stdout`, { range: 'bytes=8-20' })
  expect([ranged.status, ranged.text]).toEqual([200, shown])
  // While it goes on, nothing is sent that no event has told yet.
  const lock = takeLock(join(path, LOCK_FILE))
  try {
    expect((await ask(`${url}runs/a/raw/stdout`)).text).toBe(`hello\n${stars.join('')}***\n`)
  } finally {
    lock.release()
  }
})

test('what is written between two requests is hidden by the second, whichever file was first', async () => {
  const dir = root()
  const path = join(dir, 'a')
  mkdirSync(path)
  const { lines, events, stars } = ownPieces()
  const [journal, log] = [join(path, 'events.jsonl'), join(path, 'stdout.1.log')]
  const lock = takeLock(join(path, LOCK_FILE))
  try {
    writeFileSync(log, 'hello\n')
    writeFileSync(journal, '')
    const { url } = await serving(dir, { redact: true })
    const bytes = async () => (await ask(`${url}runs/a/raw/stdout`)).text
    expect(await bytes()).toBe('*****\n')
    appendFileSync(log, lines[0]!)
    expect(await bytes()).toBe(`*****\n${stars[0]}`)
    appendFileSync(journal, events[0]!.slice(0, 40))
    expect(await bytes()).toBe(`*****\n${stars[0]}`)
    appendFileSync(journal, events[0]!.slice(40))
    expect(await bytes()).toBe(`hello\n${stars[0]}`)
    appendFileSync(journal, events[1]!)
    appendFileSync(log, lines[1]!)
    expect(await bytes()).toBe(`hello\n${stars.join('')}`)
  } finally {
    lock.release()
  }
})

test('gives a run as one file, always without its secrets', async () => {
  const dir = root()
  putSecrets(dir)
  const { url } = await serving(dir)
  for (const name of ['export.html', 'export.md']) {
    const { status, text, headers } = await ask(`${url}runs/a/${name}`)
    expect([status, leaked(text)]).toEqual([200, []])
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
  expect(leaked((await ask(`${url}runs/a/events`)).text).length).toBe(secrets.length)
})

test.runIf(slow)('a secret at the edge of two pieces of a long log is hidden in both', () => {
  const { secret } = secrets.find(({ kind }) => kind === 'github')!
  const line = `${'some words of a log\n'.repeat(53_000)}`.slice(0, (1 << 20) - 20)
  const log = Buffer.from(`${line}${secret} and é more\n${'x y\n'.repeat(300_000)}${secret}`)
  const read = (from: number, length: number) => log.subarray(from, from + length)
  const hide = redactor()
  const whole = Buffer.concat([...hiddenLog(read, 0, log.length, hide)])
  expect(whole).toHaveLength(log.length)
  expect(whole.includes(secret)).toBe(false)
  expect(whole.toString()).toContain('and é more')
  expect(hide.hidden()).toEqual({ total: 2, kinds: { github: 2 } })
  const middle = (1 << 20) - 10
  const part = Buffer.concat([...hiddenLog(read, middle, middle + 100, redactor())])
  expect(part.equals(whole.subarray(middle, middle + 100))).toBe(true)
})
