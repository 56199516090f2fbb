import { Readable } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { exportSource } from '../../src/serve/export.ts'
import { hidingOf } from '../../src/serve/redact-served.ts'
import { redactStage } from '../../src/views/redact/redact-stage.ts'
import { eventsOf, type Fixture, fixtures, inPieces } from '../engines/fixture.ts'
import { slow } from '../pace.ts'
import { spansOf } from './kept.ts'
import { plantedSecrets } from './secrets.ts'

// A private key in a diff, and in color, has its signs in each line: it has tests of its own. In the quick
// set, those that are told by their format are left to other tests but for a few.
const secrets = plantedSecrets(5).filter(
  ({ kind }, i) => kind !== 'private-key' && (slow || i % 8 === 0 || kind.includes(' ')),
)

/** How a text with a secret comes out of a tool. */
const forms: Record<string, (line: string, secret: string) => string> = {
  'as it is': (line) => line,
  'in JSON in a string': (line) => JSON.stringify({ output: `x\n${line}\n` }),
  'in a diff': (line) => line.replace(/^/gm, '+'),
  'as grep --color prints it': (line, secret) => {
    const colored = `${secret.slice(0, 5)}\u001b[01;31m\u001b[K${secret.slice(5)}\u001b[m\u001b[K`
    return line.replace(secret, colored)
  },
}
const plantedText = (form: (line: string, secret: string) => string) =>
  secrets.map(({ line, secret }) => `${form(line, secret)}\n`).join('\n')

/** The kinds whose secret is still in what leaves, with or without color. */
function leaked(shown: unknown, of = secrets): string[] {
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
  const clean = text.replace(/(?:\u001b|\\+u001b)\[[\d;]{0,9}[mK]/g, '')
  return of.filter(({ secret }) => clean.includes(secret)).map(({ kind }) => kind)
}

/**
 * The run with a text after the last that the agent, or a tool, has said. If the log has no records, the text
 * is in lines of its own.
 */
function planted(fixture: Fixture, text: string): Fixture {
  const said = new Set(eventsOf(fixture, inPieces(fixture)).flatMap(saidIn).slice(-1))
  const withText = (_: string, value: unknown) =>
    typeof value === 'string' && said.has(value) ? `${value}\n${text}` : value
  const again = (json: string) => {
    try {
      return JSON.stringify(JSON.parse(json), withText)
    } catch {
      return undefined
    }
  }
  const logs = fixture.logs.map(({ channel, bytes }) => {
    const log = Buffer.from(bytes).toString()
    const lines = log.split('\n')
    const made = again(log) ?? lines.map((line) => again(line) ?? line).join('\n')
    const isPlain = channel === 'pty' || !lines.some((line) => line.includes('{"'))
    const end = channel === 'pty' ? '\r\n' : '\n'
    return { channel, bytes: Buffer.from(isPlain ? `${log}\n${text.replaceAll('\n', end)}` : made) }
  })
  return { ...fixture, logs }
}

function saidIn({ type, data }: AgentEvent): string[] {
  const texts: unknown[] = []
  if (type === 'agent.message.final') texts.push(data.text)
  if (type === 'tool.call.completed' || type === 'tool.call.failed') texts.push(data.output)
  if (type === 'tool.call.started') texts.push((data.input as { command?: unknown } | undefined)?.command)
  return texts.filter((text) => typeof text === 'string').filter((text) => text.length > 3)
}

/** The first run of each engine that shows what is planted in it. */
const runs = Object.keys(engines).flatMap((engine) => {
  const own = fixtures().filter((fixture) => fixture.engine === engine)
  const shows = (fixture: Fixture) => {
    const run = planted(fixture, plantedText(forms['as it is']!))
    return leaked(eventsOf(run, inPieces(run))).length === secrets.length
  }
  const fixture = own.find(shows)
  return fixture ? [{ name: `${engine}/${fixture.name}`, fixture }] : []
})

test('there is a run of every engine', () => {
  expect(runs.map(({ fixture }) => fixture.engine)).toEqual(Object.keys(engines))
})

/** The forms one after the other over the engines, or all of them. */
const texts = Object.values(forms).map(plantedText)
const filled = runs.map((run, i) => ({ ...run, text: slow ? texts.join('\n') : texts[i % texts.length]! }))

describe.each(filled)('$name', ({ fixture, text }) => {
  let events: AgentEvent[]
  beforeAll(() => {
    const run = planted(fixture, text)
    events = eventsOf(run, inPieces(run, 997))
  })

  test('no secret is in its events, nor in the spans of them', () => {
    const shown = drive(redactStage({ learn: false }), events)
    expect(leaked(shown, nameFirst(events))).toEqual([])
    const spans = spansOf(shown, { content: true, maxContent: 1e6 })
    expect(leaked(spans.map(({ attributes, events }) => [attributes, events]))).toEqual([])
  })

  test('no secret is served', () => {
    const { event } = hidingOf(true)!
    expect(leaked(events.filter((one) => !isRaw(one)).map(event))).toEqual([])
    // Each line is shown on its own: what a raw line says about the next one is not known there.
    const inOneLine = nameFirst(events).filter(({ line }) => !line.includes('\n'))
    expect(leaked(events.filter(isRaw).map(event), inOneLine)).toEqual([])
  })

  test.each(slow ? (['json', 'md', 'html'] as const) : (['json'] as const))(
    'no secret is exported as %s',
    async (to) => {
      const source = { name: 'a', events: () => Readable.from(events), attempts: [], logs: [] }
      let file = ''
      for await (const piece of exportSource(source, { to, redact: true }).text) file += piece
      expect(leaked(file, nameFirst(events))).toEqual([])
    },
  )
})

/** A line that was cut may have lost the name that comes after a value. */
function nameFirst(events: readonly AgentEvent[]) {
  const isCut = events.some(({ data }) => 'truncated' in data && data.truncated === true)
  return isCut ? secrets.filter(({ kind }) => !/value (?:before|first)/.test(kind)) : secrets
}

function isRaw({ type }: AgentEvent): boolean {
  return type.startsWith('raw.')
}
