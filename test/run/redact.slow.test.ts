import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reply, run } from '../../src/index.ts'
import { replay } from '../../src/run/replay.ts'
import { root } from '../serve/serving.ts'
import { chance } from '../views/secrets.ts'

const next = chance(59)
const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const word = (length: number) =>
  Array.from({ length }, () => letters[Math.floor(next() * letters.length)]).join('')
const TOKEN = `ghp_${word(36)}`
const PASSWORD = `tr0ub${word(6)}4`
const KEY = `${word(30)}7`

/** Everything that is in the files of a directory. */
function onDisk(dir: string): string {
  return readdirSync(dir)
    .map((name) => readFileSync(join(dir, name), 'utf8'))
    .join('\n')
}

/** The arguments of an agent that prints these texts, each in a write of its own. */
function printing(texts: readonly string[], channel: 'stdout' | 'stderr' = 'stdout'): string[] {
  const dir = root()
  writeFileSync(join(dir, 'texts.json'), JSON.stringify(texts))
  const script = `
    const texts = JSON.parse(require('fs').readFileSync(__dirname + '/texts.json', 'utf8'))
    const print = () => texts.length > 0 && process.${channel}.write(texts.shift(), () => setTimeout(print, 15))
    process.stdin.resume().on('end', print)
  `
  writeFileSync(join(dir, 'agent.cjs'), script)
  return [join(dir, 'agent.cjs')]
}

const line = (record: object) => `${JSON.stringify(record)}\n`
const begin =
  line({ type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' }) +
  line({ type: 'turn.started' })
const end = line({ type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } })
const said = (text: string) =>
  line({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } })

function noSecret(audit: string): void {
  const disk = onDisk(audit)
  for (const secret of [TOKEN, PASSWORD, KEY, TOKEN.slice(12)]) expect(disk).not.toContain(secret)
}

test('no secret of the prompt, the command line or the output is recorded, also one cut by two reads', async () => {
  const audit = join(root(), 'run')
  const record = said(`the token is ${TOKEN} and the password is "${PASSWORD}"`)
  const at = record.indexOf(TOKEN) + 9
  const args = printing([begin, record.slice(0, at), record.slice(at), end])
  const prompt = `use ${TOKEN}; password: "${PASSWORD}"`
  const agent = run(process.execPath, [...args, '--api-key', KEY], {
    ...{ audit, engine: 'codex', redact: true, prompt },
  })
  const live = await agent.toArray()
  expect(await agent.end).toMatchObject({
    outcome: 'finished',
    text: 'the token is [redacted:github] and the password is "[redacted:password]"',
  })
  noSecret(audit)
  expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))).toMatchObject({
    argv: [process.execPath, ...args, '--api-key', '[redacted:secret]'],
    task: 'use [redacted:github]; password: "[redacted:password]"',
    redacted: true,
  })
  // What was recorded gives the same events again.
  expect(await replay(audit).toArray()).toEqual(live)
})

test('a secret that a message has in two of its pieces is hidden, and the message is whole', async () => {
  const audit = join(root(), 'run')
  const piece = (content: string) =>
    line({ type: 'message', timestamp: '2026-11-18T00:00:00.000Z', role: 'assistant', content, delta: true })
  const texts = [
    line({ type: 'init', timestamp: '2026-11-18T00:00:00.000Z', session_id: 'a-b', model: 'm' }),
    ...['I use ', TOKEN.slice(0, 12), TOKEN.slice(12), ' now,\nand ', 'nothing else.'].map(piece),
    line({ type: 'result', timestamp: '2026-11-18T00:00:00.000Z', status: 'success', stats: {} }),
  ]
  const agent = run(process.execPath, printing(texts), {
    audit,
    engine: 'gemini',
    redact: true,
    prompt: 'go',
  })
  await agent.toArray()
  expect(await agent.end).toMatchObject({ ok: true, text: 'I use [redacted:github] now,\nand nothing else.' })
  noSecret(audit)
})

test('a private key of many lines, a line without an end and stderr are hidden; other bytes stay', async () => {
  const audit = join(root(), 'run')
  const body = [word(64), word(64)]
  const texts = [
    `\xff plain\r\n-----BEGIN RSA PRIVATE KEY-----\n${body[0]}\n`,
    `${body[1]}\n-----END RSA PRIVATE KEY-----\nafter\nPASS`,
    `WORD=${PASSWORD}`,
  ]
  const agent = run(process.execPath, printing(texts, 'stderr'), {
    ...{ audit, engine: 'text', redact: true, prompt: 'go' },
  })
  await agent.toArray()
  noSecret(audit)
  const log = readFileSync(join(audit, 'stderr.1.log'), 'utf8')
  for (const one of body) expect(log).not.toContain(one)
  expect(log).toMatch(/^ÿ plain\r\n\[redacted:private-key]\n(?:.*\n)*after\nPASSWORD=\[redacted:password]$/)
})

test('what it cannot do is refused before anything starts', async () => {
  const refused = async (options: object) =>
    expect(run(process.execPath, ['-e', ''], { redact: true, ...options }).end).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
  await refused({})
  await refused({ audit: join(root(), 'run'), talk: true, engine: 'acp', prompt: 'x' })
  // A command line without its key cannot be run again.
  const audit = join(root(), 'run')
  const args = ['exec', '--json', '--api-key', KEY]
  await run('true', args, { audit, engine: 'codex', redact: true, prompt: 'x' }).end
  await expect(reply(audit, 'more').end).rejects.toMatchObject({ code: 'CANNOT_REPLY' })
})
