import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import type { EmbeddedData } from '../../src/serve/page/embedded.ts'
import { built } from '../built.ts'
import { validEvents } from '../engines/valid.ts'
import { chromiumPath, launch, needsBrowser } from '../serve/browser.ts'
import { type Planted, plantedSecrets } from '../views/secrets.ts'
import { inside } from './inside.ts'

const tempDir = (name: string) => mkdtempSync(join(tmpdir(), `${name}-`))
const session_id = '00000000-0000-4000-8000-0000000000c1'
const record = (fields: object) => `${JSON.stringify({ session_id, parent_tool_use_id: null, ...fields })}\n`
const said = (id: string, content: object) =>
  record({
    type: 'assistant',
    uuid: `u${id}`,
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [content],
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  })
const asked = (content: object) =>
  record({ type: 'user', uuid: 'u2', message: { role: 'user', content: [content] } })
const piece = (event: object) => record({ type: 'stream_event', uuid: 'ue', event })

/**
 * A run of that size, with a secret in each place of it in turn: prompt, messages, pieces of them, input,
 * output, stderr, command.
 */
function runWith(secrets: readonly Planted[], size: number): { dir: string; bytes: number } {
  const dir = tempDir('export')
  const lines = [
    record({
      ...{ type: 'system', subtype: 'init', uuid: 'u0', cwd: '/home/agent/repo' },
      ...{ tools: [], model: 'claude-x' },
    }),
  ]
  const errors: string[] = []
  const argv = ['claude', '-p', 'fix it']
  for (const [i, { line, ownLine }] of secrets.entries()) {
    const id = `msg_${i}`
    const call = `toolu_${i}`
    switch (i % 7) {
      case 0:
        lines.push(asked({ type: 'text', text: `Please use this:\n${line}\nThank you.` }))
        break
      case 1:
        lines.push(said(id, { type: 'text', text: `I found\n\n${line}\n\nin the file.` }))
        break
      case 2:
        {
          const text = `Here it is:\n${line}\nas you said.`
          lines.push(piece({ type: 'message_start', message: { id, role: 'assistant', content: [] } }))
          lines.push(
            piece({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
          )
          for (let at = 0; at < text.length; at += 7) {
            const delta = { type: 'text_delta', text: text.slice(at, at + 7) }
            lines.push(piece({ type: 'content_block_delta', index: 0, delta }))
          }
          lines.push(piece({ type: 'content_block_stop', index: 0 }))
          lines.push(said(id, { type: 'text', text }))
        }
        break
      case 3:
        lines.push(
          said(id, { type: 'tool_use', id: call, name: 'Bash', input: { command: `echo go\n${line}` } }),
        )
        lines.push(asked({ type: 'tool_result', tool_use_id: call, content: 'ok' }))
        break
      case 4:
        lines.push(said(id, { type: 'tool_use', id: call, name: 'Bash', input: { command: 'cat .env' } }))
        lines.push(
          asked({
            ...{ type: 'tool_result', tool_use_id: call },
            ...{ content: `a=1\n${line}\nb=2`, is_error: i % 2 === 0 },
          }),
        )
        break
      case 5:
        errors.push(`${ownLine ? '' : 'error: '}\u001b[31m${line}\u001b[0m\n`)
        break
      default:
        argv.push('--append-system-prompt', line)
        lines.push(said(id, { type: 'text', text: JSON.stringify({ note: line }) }))
    }
  }
  const output =
    'src/index.ts: 12 passed, 0 failed, commit 1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b ok\n'.repeat(100)
  let bytes = lines.join('').length
  for (let i = 1000; bytes < size; i++) {
    const more =
      said(`msg_${i}`, {
        type: 'tool_use',
        id: `toolu_${i}`,
        name: 'Bash',
        input: { command: `npm test ${i}` },
      }) + asked({ type: 'tool_result', tool_use_id: `toolu_${i}`, content: output })
    lines.splice(Math.floor(lines.length / 2), 0, more)
    bytes += more.length
  }
  lines.push(
    record({
      ...{ type: 'result', subtype: 'success', is_error: false, uuid: 'u9', result: 'Done.', num_turns: 1 },
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  )
  writeFileSync(join(dir, 'stdout.1.log'), lines.join(''))
  writeFileSync(join(dir, 'stderr.1.log'), errors.join(''))
  writeFileSync(
    join(dir, 'meta.1.json'),
    JSON.stringify({
      ...{ run_id: 'r', attempt_number: 1, engine: 'claude', mode: 'pipe', argv, cwd: '/home/agent/repo' },
      ...{ started_at: '2026-01-01T00:00:00.000Z', ended_at: '2026-01-01T00:01:00.000Z' },
      ...{ exit_code: 0, signal: null },
    }),
  )
  return { dir, bytes }
}

/** The secret as a text could still hold it: whole, escaped once or twice, or a line of it. */
function formsOf({ secret }: Planted): string[] {
  const once = JSON.stringify(secret).slice(1, -1)
  const lines = secret.includes('\n') ? secret.split('\n').slice(1, -1) : []
  return [secret, once, JSON.stringify(once).slice(1, -1), ...lines]
}

function leaked(text: string, secrets: readonly Planted[]): string[] {
  return secrets
    .filter((planted) => formsOf(planted).some((form) => text.includes(form)))
    .map(({ line }) => line)
}

/** The data in a page. */
function dataIn(page: string): EmbeddedData {
  const [, json = ''] = /<script type="application\/json" id="sluice-data">([^<]*)<\/script>/.exec(page) ?? []
  return JSON.parse(json)
}

describe('a page of a run of 1 MB with a secret of each kind in it', () => {
  const secrets = plantedSecrets()
  const { dir, bytes } = runWith(secrets, 1_000_000)
  const file = join(dir, 'run.html')
  let page = ''

  test('is written, with a count of what was hidden, and the logs are untouched', {
    timeout: 300_000,
  }, async () => {
    expect(secrets.length).toBeGreaterThanOrEqual(60)
    expect(bytes).toBeGreaterThan(1_000_000)
    const before = readFileSync(join(dir, 'stdout.1.log'))
    const { code, out, err } = await inside(['export', dir, '--to', 'html', '--out', file])
    expect([code, out]).toEqual([0, ''])
    expect(err).toMatch(/^sluice: hid \d+ secrets \(.*github \d.*\); look at it before/)
    expect(readFileSync(join(dir, 'stdout.1.log')).equals(before)).toBe(true)
    expect(readdirSync(dir).filter((name) => name.includes('part'))).toEqual([])
    page = readFileSync(file, 'utf8')
  })

  test('has none of them, and no raw log', () => {
    const data = dataIn(page)
    expect(leaked(page, secrets)).toEqual([])
    expect(leaked(JSON.stringify(data), secrets)).toEqual([])
    expect(data.runs[0]!.streams).toEqual([])
    expect(data.runs[0]!.info).toMatchObject({ raw_hidden: true, streams: [{}, {}] })
    expect(page).not.toContain('"base64":')
    // Nor put together again from the pieces of messages.
    const pieces = data.runs[0]!.events.filter((event) => event.type === 'agent.message.delta')
    expect(pieces.length).toBeGreaterThan(50)
    expect(leaked(pieces.map(({ data }) => data.text).join(''), secrets)).toEqual([])
  })

  test('has valid events whose ranges still fit the logs', () => {
    const data = dataIn(page)
    const [run] = data.runs
    validEvents(run!.events)
    const original = readFileSync(join(dir, 'stdout.1.log'), 'latin1')
    let looked = 0
    for (const { raw_ref, type } of run!.events) {
      if (raw_ref?.stream !== 'stdout' || type !== 'tool.call.completed') continue
      const shown = original.slice(raw_ref.byte_from, raw_ref.byte_to)
      expect(JSON.parse(shown).type).toBe('user')
      looked++
    }
    expect(looked).toBeGreaterThan(50)
    expect(data.redacted).toBeGreaterThan(60)
    expect(run!.info).toMatchObject({ engine: 'claude', outcome: 'finished', exit_code: 0 })
  })

  test.skipIf(!chromiumPath)(
    `opens from the disk without a network or an error${needsBrowser}`,
    { timeout: 300_000 },
    async () => {
      const browser = await launch()
      try {
        const context = await browser.newContext({ offline: true, viewport: { width: 1300, height: 800 } })
        const view = await context.newPage()
        const problems: string[] = []
        view.on('pageerror', (error) => problems.push(error.message))
        view.on('console', (message) => {
          if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
        })
        view.on('request', (request) => {
          if (!request.url().startsWith('file:') && !request.url().startsWith('data:'))
            problems.push(request.url())
        })
        await view.goto(pathToFileURL(file).href)
        await view.waitForSelector('#conversation article', { timeout: 60_000 })
        await view.waitForSelector('#conversation[data-over=true]', { timeout: 60_000 })
        expect(leaked(await view.content(), secrets)).toEqual([])
        expect(problems).toEqual([])
      } finally {
        await browser.close()
      }
    },
  )

  test('allows its own script alone', () => {
    const policy = /http-equiv="content-security-policy" content="([^"]+)"/.exec(page)?.[1]
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']{44}'; style-src 'sha256-[^']{44}'; img-src data:/,
    )
    expect(page.match(/<script/g)).toHaveLength(2)
    expect(page).not.toMatch(/(?:src|href)="(?!data:|#)/)
  })
})

describe('sluice export', () => {
  const secrets = plantedSecrets(2)
  const { dir } = runWith(secrets, 0)

  test.each(['md', 'json'])('hides secrets in %s, too', async (to) => {
    const { code, out, err } = await inside(['export', dir, '--to', to])
    expect(code).toBe(0)
    expect(leaked(out, secrets)).toEqual([])
    expect(out).toContain('[redacted:')
    expect(err).toMatch(/^sluice: hid \d\d+ secrets/)
    if (to === 'json') validEvents(JSON.parse(out).runs[0].events)
    else expect(out).toMatch(/^## claude run: finished\n/)
  })

  test('leaves everything with --no-redact, and says so', async () => {
    const { out, err } = await inside(['export', dir, '--to', 'json', '--no-redact'])
    expect(out).not.toContain('[redacted:')
    expect(err).toBe('sluice: secrets were not hidden\n')
  })

  test('has the raw logs in a page with --no-redact, byte for byte', async () => {
    const { out } = await inside(['export', dir, '--to', 'html', '--no-redact'])
    const [run] = dataIn(out).runs
    expect(run!.info.raw_hidden).toBe(undefined)
    for (const { stream, pieces } of run!.streams) {
      const bytes = Buffer.concat(pieces.map(({ base64 }) => Buffer.from(base64, 'base64')))
      expect(bytes.equals(readFileSync(join(dir, `${stream}.1.log`)))).toBe(true)
    }
    expect(run!.streams.map(({ stream }) => stream)).toEqual(['stdout', 'stderr'])
  })

  test('reads a single log, and hides what it is told to', async () => {
    vi.stubEnv('EXPORT_TEST_NAME', 'Here it')
    const hide = ['--hide', 'Thank you', '--hide-env', 'EXPORT_TEST_NAME']
    const { code, out, err } = await inside(['export', join(dir, 'stdout.1.log'), '--to', 'md', ...hide])
    expect(code).toBe(0)
    expect(out).toContain('[redacted:own]')
    expect(out).not.toMatch(/Thank you|Here it/)
    expect(err).toMatch(/own \d/)
  })

  test('takes the newest run with --last', async () => {
    const home = tempDir('export-home')
    mkdirSync(join(home, '.audit'), { recursive: true })
    const { code, err } = await inside(['export', '--last', '--to', 'md', '--home', home])
    // This directory has no run of its own.
    expect([code, err]).toEqual([2, expect.stringContaining('there is no last run')])
  })

  test.each([
    [['export', dir], /--to/],
    [['export', dir, '--to', 'pdf'], /md, html, json/],
    [['export', join(dir, 'none'), '--to', 'md'], /no such file or directory/],
    [['export', dir, '--last', '--to', 'md'], /leave out PATH/],
    [['export', dir, '--home', dir, '--to', 'md'], /--home is for --last/],
    [['export', dir, '--to', 'md', '--hide', 'abc'], /fewer than four/],
    [['export', dir, '--to', 'md', '--hide-env', 'NO_SUCH_NAME'], /has no "NO_SUCH_NAME"/],
  ])('%j is refused', async (args, why) => {
    const { code, err } = await inside(args)
    expect([code, err]).toEqual([2, expect.stringMatching(why)])
  })

  test('that cannot be written says so with 7, and leaves nothing behind', async () => {
    const { code, err } = await inside(['export', dir, '--to', 'md', '--out', join(dir, 'no', 'where.md')])
    expect([code, err]).toEqual([
      7,
      expect.stringMatching(/cannot write .*: there is no such file or directory/),
    ])
    expect(readdirSync(dir).sort()).toEqual(['meta.1.json', 'stderr.1.log', 'stdout.1.log'])
  })

  test('goes into a pipe and through a link, which both stay what they are', async () => {
    const there = tempDir('export-out')
    const [pipe, link, file] = ['pipe.md', 'link.md', 'file.md'].map((name) => join(there, name))
    execFileSync('mkfifo', [pipe!])
    writeFileSync(file!, 'old')
    symlinkSync(file!, link!)
    const [read] = await Promise.all([readFile(pipe!, 'utf8'), inside(['export', dir, '--out', pipe!])])
    await inside(['export', dir, '--out', link!])
    expect(read).toBe(readFileSync(file!, 'utf8'))
    expect(read).toMatch(/^## claude run: finished\n/)
    expect([lstatSync(pipe!).isFIFO(), lstatSync(link!).isSymbolicLink()]).toEqual([true, true])
  })

  test('goes to /dev/stdout, also if that is a pipe', () => {
    const args = [built('src/cli/main.ts'), 'export', dir, '--to', 'md', '--out', '/dev/stdout']
    // The stdout of a process that Node starts is a socket, which cannot be opened by its name.
    const out = execFileSync('sh', ['-c', '"$@" | cat', 'sh', process.execPath, ...args], { stdio: 'pipe' })
    expect(String(out)).toMatch(/^## claude run: finished\n/)
  })
})
