import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { widthOf } from '../../src/cli/draw/width.ts'
import { inside, standIn } from './inside.ts'

const failed = join('fixtures', 'codex/08a-http-429.pipe')
const bytes = '{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}\n'

describe('sluice why', () => {
  test('says how the run ended, what went wrong first, and which command prints its bytes', async () => {
    const { code, out, err } = await inside(['why', failed])
    expect([code, err]).toEqual([1, ''])
    expect(out).toBe(
      [
        '■ failed: rate, too many requests, or the service is overloaded (ENGINE_FAILED, exceeded retry limit, last status: 429 Too Many Requests, exit 1)',
        'first: exceeded retry limit, last status: 429 Too Many Requests',
        'bytes: 641-727 of stdout.log (attempt 1, event 10)',
        `open:  npx agent-sluice why ${failed} --bytes`,
        '',
      ].join('\n'),
    )
    const [, command = ''] = out.split('npx agent-sluice ')
    const opened = await inside(command.trim().split(' '))
    expect([opened.code, opened.out]).toEqual([0, bytes])
  })

  test('shows the failed tool with its last lines, and the last file', async () => {
    const { code, out } = await inside(['why', join('fixtures', 'codex/03b-tool-fail.pipe')])
    expect(code).toBe(0)
    expect(out).toContain('tool:  command_execution echo partial; ls ./does-not-exist; exit 3 · exit 3\n')
    expect(out).toContain("     │ ls: cannot access './does-not-exist': No such file or directory\n")
    const written = await inside(['why', join('fixtures', 'codex/07a-file-write.tee80')])
    expect(written.out).toContain('first: nothing went wrong\nfile:  artifacts/info.json (created)\n')
  })

  test('has at most ten lines and the exit code of replay, for recorded runs of many engines', async () => {
    for (const engine of ['codex', 'gemini', 'opencode', 'qwen', 'cline', 'text']) {
      for (const name of readdirSync(join('fixtures', engine)).filter((_, at) => at % 6 === 0)) {
        const run = join('fixtures', engine, name)
        if (!existsSync(join(run, 'stdout.log')) && !existsSync(join(run, 'pty-output.log'))) continue
        const { code, out } = await inside(['why', run, '--engine', engine])
        expect([run, code]).toEqual([run, (await inside(['replay', run, '--engine', engine, '--json'])).code])
        expect([run, out.trimEnd().split('\n').length <= 10]).toEqual([run, true])
      }
    }
  })

  test('reads a log, stdin and --last, too', async () => {
    const log = join(failed, 'stdout.log')
    const named = await inside(['why', log, '--exit', '1'])
    expect(named.out).toContain(`open:  npx agent-sluice why ${log} --exit 1 --bytes\n`)
    const [, command = ''] = named.out.split('npx agent-sluice ')
    expect((await inside(command.trim().split(' '))).out).toBe(bytes)
    const typed = await inside(['why', '--exit', '1'], { stdin: readFileSync(log) })
    expect(typed.out).toContain('bytes: 641-727 of stdout (attempt 1, event 9)\n')
    expect(typed.out).not.toContain('open:')

    const here = mkdtempSync(join(tmpdir(), "sluice's-why-"))
    const run = join(here, '.audit', 'a run')
    mkdirSync(run, { recursive: true })
    cpSync(failed, run, { recursive: true })
    symlinkSync('a run', join(here, '.audit', 'latest'))
    vi.spyOn(process, 'cwd').mockReturnValue(here)
    const last = await inside(['why', '--last', '--home', here])
    vi.restoreAllMocks()
    expect([last.code, last.out]).toEqual([1, expect.stringContaining('first: exceeded retry limit')])
    // A path that a shell would break is quoted.
    expect(last.out).toContain(`why '${here.replaceAll("'", "'\\''")}/.audit/latest' --bytes`)
  })

  test('--json prints one record', async () => {
    const { code, out } = await inside(['why', failed, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      outcome: 'failed',
      first: { kind: 'engine', raw_ref: { stream: 'stdout', byte_from: 641 } },
      log: join(failed, 'stdout.log'),
    })
  })

  test('fits a terminal and cannot steer it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-why-'))
    const evil = `\u001b[2J\u009b31m${'很长的错误'.repeat(30)}`
    const records = [
      { type: 'thread.started', thread_id: 't' },
      { type: 'turn.failed', error: { message: evil } },
    ]
    writeFileSync(join(dir, 'stdout.log'), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    const { out } = await inside(['why', dir, '--no-color'], { stdout: standIn({ tty: true, columns: 40 }) })
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    for (const line of out.split('\n').filter((line) => !line.startsWith('open:')))
      expect(widthOf(line)).toBeLessThanOrEqual(40)
    const colored = await inside(['why', dir, '--color'])
    expect(colored.out).toContain('\u001b[31m■\u001b[0m')
    const raw = await inside(['why', dir, '--bytes'], { stdout: standIn({ tty: true }) })
    expect(raw.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  })

  test('refuses what it cannot do', async () => {
    expect((await inside(['why', failed, '--bytes', '--json'])).code).toBe(2)
    const good = await inside(['why', join('fixtures', 'codex/01-plain.tee80'), '--bytes'])
    expect([good.code, good.err]).toEqual([2, expect.stringContaining('there are no bytes to show')])
    expect((await inside(['why', '--home', '/tmp'])).code).toBe(2)
  })
})
