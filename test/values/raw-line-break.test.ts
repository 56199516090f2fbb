import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import type { ValuesOptions } from '../../src/values/values.ts'
import { valueStage } from '../../src/values/values.ts'
import { run, texts } from '../engines/run.ts'

// A program that writes records without escaping a line break in a string cuts its record in two lines.

const said = (text: string) =>
  `{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"${text}"}}`
const next = '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'

/** What each door reads, in pieces of every size. */
function read(input: string, options: ValuesOptions) {
  const once = (size: number) => {
    const bytes = Buffer.from(input)
    const chunks = []
    for (let at = 0; at < bytes.length; at += size)
      chunks.push({ channel: 'stdout' as const, bytes: bytes.subarray(at, at + size) })
    return drive(valueStage(options), chunks).map((outcome) =>
      outcome.ok ? outcome.value : outcome.fault.code,
    )
  }
  const whole = once(Number.POSITIVE_INFINITY)
  for (const size of [1, 3, 64]) expect(once(size)).toEqual(whole)
  return whole
}

describe('a raw line break in a string', () => {
  test.each([
    ['one', 'Hello\nworld', 'Hello\nworld'],
    ['two, one of them before the end', 'Hello\nworld\n', 'Hello\nworld\n'],
    ['an empty line', 'Hello\n\nworld', 'Hello\n\nworld'],
    ['escaped quotes around it', `${String.raw`say \"a`}\n${String.raw`b\" now`}`, 'say "a\nb" now'],
  ])('is mended by every door: %s', (_, raw, text) => {
    const stdout = `${said(raw)}\n${next}\n`
    const record = JSON.parse(said(JSON.stringify(text).slice(1, -1)))
    expect(read(stdout, {})).toEqual([record, JSON.parse(next)])
    expect(read(stdout, { lines: true })).toEqual([record, JSON.parse(next)])
    expect(texts(run(codex, { stdout, exit: 0 }))).toEqual([text])
    expect(read(said(raw), { lines: true })).toEqual([record])
  })

  test('is mended in the documents of an engine, too', () => {
    const record = `{"type":"assistant","uuid":"u","session_id":"s","message":{"id":"m","content":"a\nb"}}`
    expect(texts(run(claude, { stdout: `${record}\n`, exit: 0 }))).toEqual(['a\nb'])
  })

  test('that leaves two readings stays a fault', () => {
    const torn = said('Hel').slice(0, -3)
    const stdout = `${torn}\n${next}\n`
    expect(read(stdout, { lines: true })).toEqual([expect.any(String), JSON.parse(next)])
    expect(texts(run(codex, { stdout, exit: 0 }))).toEqual([])
    const both = `${torn}\n${said('Hi')}\n`
    expect(read(both, { lines: true })).toEqual([expect.any(String), JSON.parse(said('Hi'))])
    expect(texts(run(codex, { stdout: both, exit: 0 }))).toEqual(['Hi'])
  })

  test('is not looked for behind more than a few lines', () => {
    const stdout = `${said('a\n'.repeat(40))}\n${next}\n`
    expect(read(stdout, { lines: true }).at(-1)).toEqual(JSON.parse(next))
    expect(read(stdout, { lines: true })[0]).toEqual(expect.any(String))
    expect(texts(run(codex, { stdout, exit: 0 }))).toEqual([])
  })
})
