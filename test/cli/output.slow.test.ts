import { execFile } from 'node:child_process'
import { createWriteStream, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import { resume } from '../../src/run/resume.ts'
import { run } from '../../src/run/run.ts'
import { jsonl } from '../../src/streams/jsonl.ts'
import { built } from '../built.ts'
import { type SmallDisk, smallDisk } from '../faults/small-disk.ts'
import { agent, codexLines, workspace } from '../run/agent.ts'
import { findRuns } from '../serve/find-runs.ts'

// Real processes, real pipes and real full disks: what a shell sees.
const sluice = `${process.execPath} ${built('src/cli/main.ts')}`
const log = join('fixtures', 'codex/02-reasoning.pipe', 'stdout.log')

/** What a shell line prints on stderr, and its exit code. */
function shell(line: string): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile('bash', ['-c', line], { timeout: 60_000 }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

const hasFull = existsSync('/dev/full')
const disk = smallDisk('256k')
const mounted = typeof disk !== 'string'
const { dir } = mounted ? disk : { dir: '' }
afterAll(() => {
  if (mounted) (disk as SmallDisk).remove()
})

test.runIf(hasFull).each([`chat --json ${log}`, 'help chat'])(
  '%s on /dev/full ends with one line and 7',
  async (words) => {
    const { code, err } = await shell(`${sluice} ${words} > /dev/full`)
    expect([code, err]).toEqual([
      7,
      'sluice: cannot write to stdout (ENOSPC): the disk is full; the output before it is complete\n',
    ])
  },
)

test.runIf(hasFull)('run on /dev/full ends the agent, frees the lock and keeps the record', async () => {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, 'for (;;) { say(lines[2]); await sleep(5) }')
  const line = `${sluice} run --engine codex --no-fs-diff --audit ${audit} -- ${[command, ...args].join(' ')} > /dev/full`
  const { code, err } = await shell(line)
  expect([code, err]).toEqual([
    7,
    expect.stringMatching(
      /^sluice: cannot write to stdout \(ENOSPC\)[^\n]+attempt 1 is recorded in [^\n]+\n$/,
    ),
  ])
  expect(existsSync(join(audit, 'journal.lock'))).toBe(false)
  expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))).toMatchObject({
    reason: 'output_failed',
    signal: 'SIGTERM',
    outcome: 'failed',
  })
  expect((await resume(audit)).attempts).toEqual([1])
  expect(findRuns(cwd).map(({ info }) => info.outcome)).toEqual(['failed'])
})

test.runIf(hasFull)(
  'a run that is piped into a file on a full disk failed, and was not cancelled',
  async () => {
    const { cwd, audit } = workspace()
    const program = agent(cwd, 'for (;;) { say(lines[2]); await sleep(5) }')
    const live = run({ ...program, cwd, audit, engine: codex, fsDiff: false })
    const failed = pipeline(live, jsonl(), createWriteStream('/dev/full'))
    await expect(failed).rejects.toMatchObject({ code: 'ENOSPC' })
    await live.end.catch(() => {})
    expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))).toMatchObject({
      reason: 'output_failed',
      outcome: 'failed',
    })
  },
)

test.runIf(mounted)('the last bytes before a disk is full are not lost without a word', async () => {
  const input = join(mkdtempSync(join(tmpdir(), 'sluice-output-')), 'lines')
  // Three lines of 100 kB on a disk of 256 kB: the third is written in part, and no write follows it.
  writeFileSync(input, `${JSON.stringify({ a: 'x'.repeat(100_000) })}\n`.repeat(3))
  const { code, err } = await shell(
    `${sluice} values --lines ${input} > ${dir}/out; code=$?; rm ${dir}/out; exit $code`,
  )
  expect([code, err]).toEqual([7, expect.stringContaining('(ENOSPC)')])
})

test.runIf(mounted).each(['', '--pty'])(
  'an audit on a full disk ends with one line and 7 %s',
  async (mode) => {
    const { cwd } = workspace()
    const audit = join(dir, `audit${mode}`)
    const { command, args = [] } = agent(
      cwd,
      "say(lines[0]); for (;;) { say('x'.repeat(4000)); await sleep(0) }",
    )
    const words = `run ${mode} --engine codex --no-fs-diff --audit ${audit}`
    const { code, err } = await shell(
      `${sluice} ${words} -- ${[command, ...args].join(' ')} > /dev/null < /dev/null`,
    )
    expect([code, err]).toEqual([7, expect.stringMatching(/^sluice: cannot [^\n]+\n$/)])
    expect(existsSync(join(audit, 'journal.lock'))).toBe(false)
    const logged = join(audit, mode === '--pty' ? 'pty-output.1.log' : 'stdout.1.log')
    expect(readFileSync(logged, 'utf8')).toContain(codexLines[0])
    expect(statSync(logged).size).toBeGreaterThan(50_000)
    await shell(`rm -r ${audit}`)
  },
)

test('help | head prints no stack', async () => {
  const { code, out, err } = await shell(`${sluice} help chat | true; exit \${PIPESTATUS[0]}`)
  expect([code, out, err]).toEqual([0, '', ''])
})

test('an answer that nothing read is no success', async () => {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, 'for (const line of lines) say(line)')
  const running = `run --quiet --engine codex --no-fs-diff --audit ${audit} -- ${[command, ...args].join(' ')}`
  const answering = `ask hi -- ${process.execPath} -e 'console.log("<json>{}</json>")'`
  for (const words of [answering, running, `chat --quiet < ${log}`]) {
    const { code } = await shell(`${sluice} ${words} | true; exit \${PIPESTATUS[0]}`)
    expect([words, code]).toEqual([words, 7])
  }
})

test.runIf(hasFull)('run --tee tells that the disk behind stdout is full', async () => {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, 'say(lines[0])')
  const words = `run --tee --engine codex --no-fs-diff --audit ${audit} -- ${[command, ...args].join(' ')}`
  const { code, err } = await shell(`${sluice} ${words} > /dev/full < /dev/null`)
  expect([code, err]).toEqual([
    7,
    expect.stringContaining('cannot write to stdout (ENOSPC): the disk is full'),
  ])
})
