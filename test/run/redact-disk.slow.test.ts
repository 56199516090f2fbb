import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reply, resume, run } from '../../src/index.ts'
import { replay } from '../../src/run/replay.ts'
import { work } from '../../src/work/work.ts'
import { built } from '../built.ts'
import { root } from '../serve/serving.ts'

const TOKEN = 'ghp_7hQ2mV9xK4tLw8ZpR3nB6yD1cF5gJ0sA2eUi'
const PASSWORD = 'tr0ubadour-4417-x'
const KEY = 'kT9vQ2wLx7Rm4Zp8Nc3Bd6Hs1Jf5Gy'
const secrets = [TOKEN, PASSWORD, KEY]

/** The files below a directory with a secret in their bytes, or in their names; also a half of one. */
function leaksBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const path = join(dir, name)
    const bytes = lstatSync(path).isFile() ? readFileSync(path, 'latin1') : ''
    const parts = secrets.flatMap((secret) => [secret, secret.slice(0, 12), secret.slice(-12)])
    return parts.filter((part) => bytes.includes(part) || name.includes(part)).map(() => name)
  })
}

const line = (record: object) => `${JSON.stringify(record)}\n`
const said = (text: string) =>
  line({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } })
const begin =
  line({ type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' }) +
  line({ type: 'turn.started' })
const end = line({ type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } })

/** An agent that is called like Codex and repeats what it was given; `rest` is the end of its program. */
function codexIn(dir: string, rest = `print(${JSON.stringify(end)})`): string {
  const path = join(dir, 'codex')
  const record = said(`I use ${TOKEN}\nDB_PASSWORD=${PASSWORD}`)
  const cut = record.indexOf(TOKEN) + 9
  writeFileSync(
    path,
    `#!${process.execPath}
const print = (text) => require('fs').writeSync(1, text)
const warn = (text) => require('fs').writeSync(2, text)
let task = ''
if (process.stdin.isTTY) begin()
else process.stdin.on('data', (data) => (task += data)).on('end', begin)
function begin() {
  print(${JSON.stringify(begin)} + JSON.stringify({ type: 'item.completed', item: { id: 'item_9', type: 'agent_message', text: 'You said ' + task } }) + '\\n')
  warn('Authorization: Bearer ${KEY}\\npassword:\\n  ${PASSWORD}\\n')
  print(${JSON.stringify(record.slice(0, cut))})
  setTimeout(() => { print(${JSON.stringify(record.slice(cut))}); ${rest} }, 60)
}
`,
    { mode: 0o755 },
  )
  return path
}

/** Whether the journal is what the recorded bytes give. */
async function replays(dir: string): Promise<void> {
  let again = ''
  for await (const event of replay(dir)) again += `${JSON.stringify(event)}\n`
  expect(again).toBe(readFileSync(join(dir, 'events.jsonl'), 'utf8'))
}

const sluice = (cwd: string, args: readonly string[], input = '') =>
  spawnSync(process.execPath, [built('src/cli/main.ts'), ...args], { cwd, input, encoding: 'utf8' })

test('the command records no secret with --redact, whatever door it came by', async () => {
  const dir = root()
  const prompt = `use ${TOKEN}; password: "${PASSWORD}"`
  const command = ['--', codexIn(dir), 'exec', '--json', '--api-key', KEY]
  for (const [i, how] of [
    ['--prompt', prompt],
    ['--prompt', '-'],
  ].entries()) {
    const audit = join(dir, `run-${i}`)
    const args = ['run', '--redact', '--audit', audit, '--json', ...how, ...command]
    const { status, stdout, stderr } = sluice(dir, args, prompt)
    expect([status, stderr]).toEqual([0, expect.any(String)])
    for (const secret of secrets) expect(stdout + stderr).not.toContain(secret)
    expect(leaksBelow(audit)).toEqual([])
    expect(stdout).toContain('You said use [redacted:github]')
    await replays(audit)
  }
})

test('on a PTY', async () => {
  const dir = root()
  const audit = join(dir, 'run')
  const agent = run(codexIn(dir), ['exec', '--json', '--api-key', KEY], {
    ...{ audit, engine: 'codex', redact: true, pty: { cols: 200 } },
  })
  const live = await agent.toArray()
  expect((await agent.end).text).toContain('I use [redacted:github]')
  expect(leaksBelow(audit)).toEqual([])
  expect(readFileSync(join(audit, 'pty-output.1.log'), 'utf8')).toContain('[redacted:github]')
  expect(await replay(audit).toArray()).toEqual(live)
})

test.each([false, true])(
  'kill -9 loses the line that waits, and never writes it raw (pty: %s)',
  async (pty) => {
    const dir = root()
    const audit = join(dir, 'run')
    const half = JSON.stringify(said(`and ${TOKEN}, password: "${PASSWORD}"`).slice(0, -6))
    const codex = codexIn(
      dir,
      `print(${half}); print = () => {}; setInterval(() => {}, 1000)`.replace('print = () => {}; ', ''),
    )
    const args = ['run', '--redact', '--audit', audit, '--json', ...(pty ? ['--pty'] : ['--prompt', TOKEN])]
    const recorder = spawn(
      process.execPath,
      [built('src/cli/main.ts'), ...args, '--', codex, 'exec', '--json'],
      {
        cwd: dir,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    let shown = ''
    for await (const text of recorder.stdout.setEncoding('utf8')) {
      shown += text
      if (!shown.includes('I use')) continue
      // The half line comes with the same write: it is in this process, or in its pipe.
      await new Promise((resolve) => setTimeout(resolve, 100))
      const gone = once(recorder, 'exit')
      recorder.kill('SIGKILL')
      await gone
      break
    }
    const { pid } = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
    expect(leaksBelow(audit)).toEqual([])
    const log = readFileSync(join(audit, pty ? 'pty-output.1.log' : 'stdout.1.log'), 'utf8')
    expect(log).toContain('I use [redacted:github]')
    expect(log.endsWith('\n')).toBe(true)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Its terminal went with the recorder, and it with the terminal.
    }
    await resume(audit)
    expect(leaksBelow(audit)).toEqual([])
    await replays(audit)
  },
)

test('the names and the contents of the files that it changes, its environment, and tags', async () => {
  const dir = root()
  const git = (...words: string[]) =>
    spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd: dir })
  git('init', '-q')
  writeFileSync(join(dir, 'old.env'), `DB_PASSWORD=${PASSWORD}\n`)
  git('add', '-A')
  git('commit', '-qm', 'first')
  const codex = codexIn(
    dir,
    `const fs = require('fs')
    fs.writeFileSync('old.env', 'DB_PASSWORD=${PASSWORD}\\nMORE=1\\n')
    fs.writeFileSync('new.env', 'API_KEY=${KEY}\\n')
    fs.writeFileSync('${TOKEN}.txt', process.env.MY_TOKEN)
    print('it is ' + process.env.MY_TOKEN + '\\n' + ${JSON.stringify(end)})`,
  )
  const audit = join(dir, '.audit')
  const agent = run(codex, ['exec', '--json'], {
    ...{ audit, cwd: dir, engine: 'codex', redact: true, diff: true, prompt: 'Go.' },
    env: { ...process.env, MY_TOKEN: TOKEN },
    tags: { note: `password: "${PASSWORD}"`, [TOKEN]: 'x' },
  })
  const live = await agent.toArray()
  await agent.end
  expect(leaksBelow(audit)).toEqual([])
  for (const secret of secrets) expect(JSON.stringify(live)).not.toContain(secret)
  const changed = live.flatMap(({ data }) => ('diff' in data && 'path' in data ? [data.path] : []))
  expect(changed.sort()).toEqual(['[redacted:github].txt', 'new.env', 'old.env'])
  expect(await replay(audit).toArray()).toEqual(live)
})

test('a done marker that looks like a key ends the run all the same', async () => {
  const dir = root()
  const audit = join(dir, 'run')
  const doneMarker = 'vX3kQ8sLm2Tz9Rf4Wb7Nc1Yd6Hg5Jp'
  const codex = codexIn(dir, `print(${JSON.stringify(said(`{"${doneMarker}": true}`) + end)})`)
  const agent = run(codex, ['exec', '--json'], {
    ...{ audit, engine: 'codex', redact: true, prompt: 'Go.', doneMarker },
  })
  const live = await agent.toArray()
  expect((await agent.end).completion.evidence).toMatchObject({ done_marker: true })
  expect(readFileSync(join(audit, 'meta.1.json'), 'utf8')).toContain('"done_marker": "[redacted:random]"')
  expect(await replay(audit).toArray()).toEqual(live)
})

test('a worker of work() that runs under --redact leaves none in either recording; the agent keeps its session', async () => {
  const dir = root()
  const session = join(dir, 'session.jsonl')
  const own = line({ type: 'response_item', payload: { text: `${TOKEN} ${PASSWORD}` } })
  const codex = codexIn(
    dir,
    `print(${JSON.stringify(end)}); require('fs').writeFileSync(${JSON.stringify(session)}, ${JSON.stringify(own)})`,
  )
  const args = ['run', '--redact', '--audit', join(dir, 'audits', 'inner'), '--json', '--prompt', 'Go.']
  const done = await work(
    { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: root() },
    {
      worker: 'script',
      command: [process.execPath, built('src/cli/main.ts'), ...args, '--', codex, 'exec', '--json'],
      audit: join(dir, 'audits', 'outer'),
    },
  )
  expect(done.exit).toMatchObject({ code: 0 })
  const recorded = readdirSync(join(dir, 'audits'), { recursive: true, encoding: 'utf8' })
  expect(recorded.filter((name) => name.endsWith('stdout.1.log'))).toHaveLength(2)
  expect(leaksBelow(join(dir, 'audits'))).toEqual([])
  expect(readFileSync(session, 'utf8')).toBe(own)
})

test('a reply to such a run records none either, and a round tells none', async () => {
  const dir = root()
  const audit = join(dir, 'run')
  const schema = { type: 'object', required: ['a'], properties: { a: { const: 1 } } }
  const command = codexIn(dir)
  const options = {
    audit,
    engine: 'codex',
    redact: true,
    prompt: `password: "${PASSWORD}"`,
    schema,
    rounds: 1,
  } as const
  await run(command, ['exec', '--json'], options).toArray()
  await reply(audit, `now ${TOKEN}`).toArray()
  expect(leaksBelow(audit)).toEqual([])
  expect(readdirSync(audit)).toContain('stdin.3.log')
})

test('--tee and --talk are refused with it, before anything starts', () => {
  for (const how of [['--tee'], ['--talk', '--prompt', 'x']]) {
    const dir = root()
    const { status, stderr } = sluice(dir, ['run', '--redact', ...how, '--', 'gemini', '--acp'])
    expect([status, stderr]).toEqual([2, expect.stringMatching(/redact/)])
    expect(readdirSync(dir)).toEqual([])
  }
})
