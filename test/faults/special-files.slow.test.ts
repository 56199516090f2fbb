import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { built } from '../built.ts'
import { only } from '../engines/run.ts'
import { agent, codexLines, ran, workspace } from '../run/agent.ts'
import { putRun, root } from '../serve/serving.ts'

/**
 * What hangs here hangs in a synchronous call, so each of these is a process of its own that can be killed.
 */
async function node(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  const options = { timeout: 20_000, killSignal: 'SIGKILL' } as const
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options)
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, signal, stdout, stderr } = error as Record<string, string>
    return { code: code ?? signal, out: stdout ?? '', err: stderr ?? '' }
  }
}
const sluice = (...args: string[]) => node(built('src/cli/main.ts'), ...args)
const mkfifo = (path: string) => execFileSync('mkfifo', [path])
const LIMIT = 30_000

const put: Record<string, (path: string) => void> = {
  'a FIFO': mkfifo,
  'a directory': mkdirSync,
  'a link to nowhere': (path) => symlinkSync('nowhere', path),
}

test(
  'a FIFO, a directory or a link to nowhere in place of events.jsonl or journal.lock: runs are listed, logs read',
  async () => {
    const dir = root()
    putRun(dir, 'good', 2)
    let runs = 0
    for (const make of Object.values(put))
      for (const file of ['events.jsonl', 'journal.lock']) {
        const bad = join(dir, `bad-${++runs}`)
        mkdirSync(bad)
        writeFileSync(join(bad, 'stdout.1.log'), `${codexLines.join('\n')}\n`)
        make(join(bad, file))
      }
    const { out, err } = await node(
      '--input-type=module',
      '-e',
      `import { serve } from ${JSON.stringify(built('src/serve.ts'))}
      const { url, close } = await serve({ dir: ${JSON.stringify(dir)}, port: 0 })
      const listed = await (await fetch(url + 'runs')).json()
      const raw = []
      for (const { id } of listed) if (id !== 'good') raw.push((await fetch(url + 'runs/' + id + '/raw/stdout')).status)
      const events = await (await fetch(url + 'runs/good/events')).text()
      console.log(JSON.stringify([listed.length, raw, events.includes('good:2')]))
      await close()`,
    )
    expect([out, err]).toEqual(['[7,[200,200,200,200,200,200],true]\n', ''])
  },
  LIMIT,
)

test(
  'an agent leaves a FIFO as .gitignore: the run ends and names it',
  async () => {
    const { cwd, audit } = workspace()
    const { code, out } = await sluice(
      'run',
      '--cwd',
      cwd,
      '--audit',
      audit,
      '--',
      'sh',
      '-c',
      'mkfifo .gitignore',
    )
    expect([code, out]).toEqual([expect.any(Number), expect.stringContaining('lifecycle.completion.state')])
    expect(JSON.parse(readFileSync(join(audit, 'fs-diff.1.json'), 'utf8')).created).toEqual(['.gitignore'])
  },
  LIMIT,
)

test(
  'FIFOs as fs-diff.1.json and events.jsonl: a replay reads the logs without them',
  async () => {
    const dir = root()
    writeFileSync(join(dir, 'stdout.1.log'), `${codexLines.join('\n')}\n`)
    for (const file of ['fs-diff.1.json', 'events.jsonl']) mkfifo(join(dir, file))
    const { code, out } = await sluice('replay', dir)
    expect([code, out]).toEqual([expect.any(Number), expect.stringContaining('Grüße')])
  },
  LIMIT,
)

test.each([
  ['journal.lock', /^sluice: something unknown [^\n]*journal\.lock[^\n]*\n$/],
  ['events.jsonl', /^sluice: cannot open [^\n]*not a regular file[^\n]*\n$/],
  ['parser_diagnostics.jsonl', /^sluice: cannot open [^\n]*not a regular file[^\n]*\n$/],
])(
  'a FIFO as %s: a run is refused in one line that names it',
  async (file, words) => {
    const { cwd, audit } = workspace()
    mkdirSync(audit)
    mkfifo(join(audit, file))
    const { code, err } = await sluice('run', '--cwd', cwd, '--audit', audit, '--', 'true')
    expect([code, err]).toEqual([expect.any(Number), expect.stringMatching(words)])
  },
  LIMIT,
)

test.each([
  ['removes its log', 'fs.rmSync'],
  ['puts a directory in the place of its log', '((log) => (fs.rmSync(log), fs.mkdirSync(log)))'],
])('an agent %s: the run ends, and says so', async (_what, act) => {
  const { cwd, audit } = workspace()
  const body = `for (const line of lines) say(line);\n${act}('.audit/stdout.1.log')`
  const { events, end } = await ran({ ...agent(cwd, body), cwd, audit })
  expect(end.exitCode).toBe(0)
  const told = only(events, 'diagnostic.parser.warning').filter(({ data }) => data.code === 'RECORD_FAILED')
  expect(told.map(({ data }) => data.message)).toEqual([expect.stringContaining('"stdout.1.log"')])
  expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))).toMatchObject({
    complete: true,
    bytes: { stderr: 0 },
  })
})

test('an agent puts a directory in the place of journal.lock: the run ends well', async () => {
  const { cwd, audit } = workspace()
  const body = `for (const line of lines) say(line)
    fs.rmSync('.audit/journal.lock')
    fs.mkdirSync('.audit/journal.lock')`
  const { end } = await ran({ ...agent(cwd, body), cwd, audit })
  expect([end.exitCode, end.completion.reason_code]).toEqual([0, 'END_SIGNAL'])
  // The next run is told what is in the way.
  await expect((async () => ran({ ...agent(cwd, body), cwd, audit }))()).rejects.toMatchObject({
    code: 'JOURNAL_LOCKED',
  })
})
