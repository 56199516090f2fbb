import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import pty from '@lydell/node-pty'
import { describe, expect, test } from 'vitest'
import { widthOf } from '../src/cli/draw/width.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const script = ['scripts/start.js']
const { NO_COLOR: _no, FORCE_COLOR: _force, CI: _ci, ...environment } = process.env

/** What `npm start` writes in a pipe. */
function inPipe(env: Record<string, string>): string {
  const options = { cwd: root, env: { ...environment, ...env }, encoding: 'utf8' } as const
  const { stdout, stderr, status } = spawnSync(process.execPath, script, options)
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout
}

/** The same on a terminal. */
async function onTerminal(cols: number): Promise<string> {
  const env = { ...environment, TERM: 'xterm-256color' }
  const terminal = pty.spawn(process.execPath, script, { cwd: root, cols, env })
  let shown = ''
  terminal.onData((text) => (shown += text))
  const { exitCode } = await new Promise<{ exitCode: number }>((resolve) => terminal.onExit(resolve))
  expect(exitCode).toBe(0)
  return shown.replaceAll('\r\n', '\n')
}

const widest = (text: string) => Math.max(...text.split('\n').map(widthOf))

describe('npm start', () => {
  const narrow = inPipe({ COLUMNS: '80' })

  test('shows five things, each with the bytes that it came from, and what to do next', () => {
    const titles = narrow.split('\n').filter((line) => /^\d {2}/.test(line))
    expect(titles).toEqual([
      '1  A torn line of a terminal is mended',
      '2  A doubled record is dropped',
      '3  A failed tool, with its output and its bytes',
      '4  A payload is repaired, and a schema decides',
      '5  Exit code 0 is not success',
    ])
    for (const part of narrow.split(/^\d {2}/m).slice(1)) {
      expect(part).toMatch(/^ {3}fixtures\/\w+\/[\w.-]+$/m)
      expect(part).toMatch(/^ {3}(?:stdout|pty) \d+-\d+ +│ \S/m)
    }
    const next = narrow.slice(narrow.indexOf('\nNext\n')).split('\n').slice(2, -1)
    expect(next.length).toBe(3)
    for (const line of next) expect(line).toContain('npx agent-sluice')
  })

  test('tells what was computed', () => {
    for (const words of [
      '7 of 12 such records are torn; all 12 come out as stdout has them',
      '5 rows are one record again',
      '14 records in (7 on stdout, 7 on the PTY); 10 events out',
      '✗ echo partial; ls ./does-not-exist; exit 3 · exit 3',
      'npx agent-sluice why fixtures/codex/03b-tool-fail.pipe --bytes',
      'byte 141: dropped a comma',
      '✗ INVALID_JSON at byte 110',
      '✗ SCHEMA_FAILED at byte 64: /issues/0/line must be integer',
      '■ unknown (NO_END_SIGNAL, exit 0)',
    ])
      expect(narrow).toContain(words)
  })

  test('is no wider than 80 columns, and has no colors in a pipe', () => {
    expect(widest(narrow)).toBeLessThanOrEqual(80)
    expect(widest(narrow)).toBeGreaterThan(70)
    expect(narrow).not.toContain('\u001b')
  })

  test('uses the columns of a terminal, and its colors', async () => {
    const drawn = await onTerminal(120)
    expect(drawn).toContain('\u001b[32m→\u001b[0m')
    const wide = stripVTControlCharacters(drawn)
    expect(widest(wide)).toBeLessThanOrEqual(120)
    expect(widest(wide)).toBeGreaterThan(110)
    const titles = (text: string) => text.split('\n').filter((line) => /^\d/.test(line))
    expect(titles(wide)).toEqual(titles(narrow))
  })
})
