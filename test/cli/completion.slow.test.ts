import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { built } from '../built.ts'
import { inside } from './inside.ts'

/** What `sluice complete` prints for a command line; the last word is being typed. */
async function completed(...typed: string[]): Promise<string[]> {
  const { code, err, out } = await inside(['complete', '--', ...typed])
  expect([code, err]).toEqual([0, ''])
  return out
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\t.*/, ''))
}

const FILES = ':0'
const NO_FILES = ':4'

describe('what can follow', () => {
  test.each([
    ['commands', ['se'], ['serve', 'sessions', NO_FILES]],
    ['the options of the program', ['--v'], ['--version', NO_FILES]],
    ['the command to help with', ['help', 'rep'], ['reply', 'replay', NO_FILES]],
    ['options', ['values', '--p'], ['--pick', '--partial', NO_FILES]],
    ['values of a fixed set', ['values', '--pick', ''], ['each', 'first', 'last', NO_FILES]],
    ['a value behind =', ['values', '--pick=l'], ['last', NO_FILES]],
    ['a value behind =, as bash cuts it', ['values', '--pick', '=', 'l'], ['last', NO_FILES]],
    ['all values behind =, as bash cuts it', ['values', '--root', '='], ['object', 'any', NO_FILES]],
    ['engines', ['run', '--engine', 'codex'], ['codex-session', 'codex', NO_FILES]],
    ['a module in place of an engine', ['run', '--engine', './'], [FILES]],
    ['workers', ['work', '--worker', 'j'], ['json-cli', NO_FILES]],
    ['shells', ['completion', ''], ['bash', 'zsh', 'fish', NO_FILES]],
    ['files', ['values', ''], [FILES]],
    ['files for an option', ['values', '--schema', 'r'], [FILES]],
    ['nothing for a time', ['run', '--timeout', ''], [NO_FILES]],
    ['an option behind one that has no value', ['run', '--pty', '--js'], ['--json', NO_FILES]],
    ['files behind --, for the other program', ['run', '--', 'codex', '--'], [FILES]],
    ['files behind an unknown command', ['vlues', ''], [FILES]],
  ])('%s', async (_what, typed, lines) => {
    expect(await completed(...typed)).toEqual(lines)
  })

  test('every command is offered, with its summary', async () => {
    const { out } = await inside(['complete', '--', ''])
    const { out: help } = await inside(['--help'])
    const lines = out.split('\n').filter((line) => line.includes('\t'))
    expect(lines.length).toBeGreaterThan(11)
    for (const line of lines) expect(help).toContain(line.split('\t')[1])
  })
})

test('refuses an unknown shell', async () => {
  const { code, err, out } = await inside(['completion', 'tcsh'])
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('it is one of bash, zsh, fish')
})

describe('in a real shell', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-completion-'))
  afterAll(() => rmSync(dir, { recursive: true }))
  const trap = join(dir, 'trap')
  const env = { ...process.env, HOME: dir, PATH: `${dir}${delimiter}${process.env['PATH']}` }

  beforeAll(() => {
    const program = join(dir, 'sluice')
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${built('src/cli/main.ts')}' "$@"\n`)
    chmodSync(program, 0o755)
  })

  const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0
  const run = (shell: string, args: string[]) => {
    const { stdout, stderr, status } = spawnSync(shell, args, { env, cwd: dir, encoding: 'utf8' })
    return { stderr, status, lines: stdout.split('\n').filter(Boolean) }
  }

  test.skipIf(!has('bash'))('bash completes, and runs nothing of what is typed', { timeout: 120_000 }, () => {
    const script = `
      set -u
      eval "$(sluice completion bash)"
      complete -p agent-sluice >/dev/null || exit 1
      ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice_completion; echo "\${COMPREPLY[*]:-nothing}"; }
      ask sluice values --pick l
      ask sluice 'values' '$(touch ${trap})' '> ${trap}' '; touch ${trap}' --par
      ask sluice values ''`
    expect(run('bash', ['--norc', '-c', script])).toEqual({
      stderr: '',
      status: 0,
      lines: ['last', '--partial', 'nothing'],
    })
    expect(existsSync(trap)).toBe(false)
  })

  // _describe and _arguments work only while a person types; here they print what they are given.
  test.skipIf(!has('zsh'))('zsh completes, and runs nothing of what is typed', { timeout: 120_000 }, () => {
    const script = `
      compdef() { :; }
      eval "$(sluice completion zsh)"
      _describe() { print -rl -- $completions; }
      _files() { print files; }
      compset() { :; }
      ask() { words=("$@"); CURRENT=$#; _sluice; }
      ask sluice values --pick l
      ask sluice values '$(touch ${trap})' '> ${trap}' '; touch ${trap}' --par
      ask sluice values ''`
    const { status, stderr, lines } = run('zsh', ['-f', '-c', script])
    expect({ status, stderr, lines }).toEqual({
      status: 0,
      stderr: '',
      lines: ['last:', expect.stringMatching(/^--partial:complete a value/), 'files'],
    })
    expect(existsSync(trap)).toBe(false)
  })

  test.skipIf(!has('fish'))('fish completes, and runs nothing of what is typed', { timeout: 120_000 }, () => {
    const script = `
      sluice completion fish | source
      complete -C 'sluice values --pick l'
      complete -C 'agent-sluice values --pick=l'
      complete -C 'sluice values (touch ${trap}) "; touch ${trap}" --par'
      complete -C 'sluice values slu'`
    const { status, lines } = run('fish', ['--no-config', '-c', script])
    expect({ status, lines }).toEqual({
      status: 0,
      lines: ['last', '--pick=last', expect.stringMatching(/^--partial\tcomplete a value/), 'sluice'],
    })
    expect(existsSync(trap)).toBe(false)
  })
})
