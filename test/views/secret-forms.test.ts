import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { RedactedLog } from '../../src/process/redacted-log.ts'
import { redactor } from '../../src/views/redact/redact.ts'
import { redactStage } from '../../src/views/redact/redact-stage.ts'
import { slow } from '../pace.ts'
import { chance } from './secrets.ts'

/** Words and alphabets of the made-up values in the two lists of forms. */
const words = 'river copper lantern meadow violet anchor saddle thunder pepper window cactus marble'.split(
  ' ',
)
const small = 'abcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'
const alphabets: Record<string, string> = {
  hex: `${digits}abcdef`,
  HEX: `${digits}ABCDEF`,
  alnum: small + small.toUpperCase() + digits,
  alpha: small + small.toUpperCase(),
  b64: `${small + small.toUpperCase() + digits}+/`,
  url: `${small + small.toUpperCase() + digits}-_`,
  lower: small + digits,
  upper: small.toUpperCase() + digits,
  base32: `${small.toUpperCase()}234567`,
  digits,
}

interface Form {
  readonly template: string
  readonly text: string
  /** What was between « and ». */
  readonly secrets: readonly string[]
}

/** The forms of a list with values of chance: `{hex:40}`, `{pass}`; no key in it is anybody's. */
function formsOf(file: string, seed: number): Form[] {
  const next = chance(seed)
  const pick = <T>(from: ArrayLike<T>): T => from[Math.floor(next() * from.length)]!
  const of = (kind: string, length: number) => Array.from({ length }, () => pick(alphabets[kind]!)).join('')
  const made: Record<string, () => string> = {
    uuid: () => `${of('hex', 8)}-${of('hex', 4)}-4${of('hex', 3)}-a${of('hex', 3)}-${of('hex', 12)}`,
    word: () => pick(words),
    pass: () => {
      const word = pick(words)
      return pick([
        `${word[0]!.toUpperCase()}${word.slice(1)}${of('digits', 4)}${pick('!-_.*^')}`,
        `${of('alnum', 5)}${pick('!-_.*^')}${of('alnum', 6)}${of('digits', 1)}`,
        `${word}${of('digits', 2)}-${pick(words)}${of('digits', 1)}`,
        `${word}-${pick(words)}-${pick(words)}-${of('digits', 2)}`,
        of('alnum', 14),
      ])
    },
  }
  const signs: Record<string, string> = { '\\': '\\', n: '\n', r: '\r', t: '\t' }
  return readFileSync(new URL(file, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((template) => {
      const marked = template
        .replace(/\{(\w+)(?::(\d+))?\}/g, (given, kind: string, length?: string) =>
          length === undefined ? (made[kind]?.() ?? given) : of(kind, Number(length)),
        )
        .replace(/\\([\\nrt])/g, (_, sign: string) => signs[sign]!)
      const secrets = [...marked.matchAll(/«([^»]*)»/g)].map(([, secret]) => secret!)
      return { template, text: marked.replace(/[«»]/g, ''), secrets }
    })
}

/** Whether the secret, or a part of it, is still there. */
function leaks(shown: string, secret: string): boolean {
  if (shown.includes(secret) || shown.includes(JSON.stringify(secret).slice(1, -1))) return true
  for (let at = 0; secret.length >= 16 && at + 12 <= secret.length; at += 4)
    if (shown.includes(secret.slice(at, at + 12))) return true
  return false
}

const wraps: Record<string, (text: string) => string> = {
  'as they are': (text) => text,
  'between lines': (text) => `first line\n${text}\nlast line`,
  'in JSON': (text) => JSON.stringify({ type: 'x', output: text }),
  'in JSON in JSON': (text) => JSON.stringify({ output: JSON.stringify({ a: text }) }),
}

// docs/export.md names what of these is not hidden, and what is that should not be: "What cannot be known".
describe.each(Object.entries(wraps))('forms of secrets %s', (_, wrap) => {
  test.each([7, 99, 2026])('at most two in a hundred pass (seed %i)', (seed) => {
    const forms = formsOf('secret-forms.txt', seed)
    const passed = forms.filter(({ text, secrets }) => {
      const shown = redactor().text(wrap(text))
      expect(shown).not.toContain('[redacted:[')
      return secrets.some((secret) => leaks(shown, secret))
    })
    expect(forms.length).toBeGreaterThan(700)
    expect(forms.every(({ secrets }) => secrets.length > 0)).toBe(true)
    const told = passed.map(({ template }) => template)
    expect(told.length, `\n${told.join('\n')}\n`).toBeLessThanOrEqual(forms.length * 0.02)
  })

  test.each([7, 99, 2026])('at most two in a hundred that are none are hidden (seed %i)', (seed) => {
    const forms = formsOf('no-secret-forms.txt', seed)
    const changed = forms.filter(({ text }) => redactor().text(wrap(text)) !== wrap(text))
    expect(forms.length).toBeGreaterThan(700)
    const told = changed.map(({ template }) => template)
    expect(told.length, `\n${told.join('\n')}\n`).toBeLessThanOrEqual(forms.length * 0.02)
  })
})

describe.each(slow ? [1, 2, 3, 4, 5] : [1])('cut at a random place (seed %i)', (seed) => {
  const next = chance(seed)
  const forms = ['secret-forms.txt', 'no-secret-forms.txt'].flatMap((file) => formsOf(file, seed))
  const cuts = forms.map(({ text }) => {
    const whole = `first line\n${text}\nlast line\n`
    return { whole, at: 1 + Math.floor(next() * (whole.length - 1)) }
  })

  test('a log that is read in two parts is the same as one that is read at once', () => {
    const shown = (...parts: string[]) => {
      const log = new RedactedLog(redactor())
      return Buffer.concat([...parts.map((part) => log.write(Buffer.from(part))), log.end()]).toString()
    }
    for (const { whole, at } of cuts)
      expect(shown(whole.slice(0, at), whole.slice(at)), whole).toBe(shown(whole))
  })

  test('a message that comes in two parts tells no secret that it hides as a whole', () => {
    const delta = (text: string) => ({ type: 'agent.message.delta', data: { message_id: 'm', text } })
    for (const [i, { whole, at }] of cuts.entries()) {
      // Cast: what else an event has is not read.
      const events = [delta(whole.slice(0, at)), delta(whole.slice(at))] as unknown as AgentEvent[]
      const shown = drive(redactStage(), events)
        .map(({ data }) => (data as { text: string }).text)
        .join('')
      const hidden = redactor().text(whole)
      for (const secret of forms[i]!.secrets)
        if (!leaks(hidden, secret)) expect(leaks(shown, secret), whole).toBe(false)
    }
  })
})
