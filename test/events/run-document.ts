import { readFileSync } from 'node:fs'
import { codes } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import { guarded } from '../../src/events/check-engine.ts'
import type { Engine } from '../../src/events/engine.ts'
import type { AgentEvent, RawRef } from '../../src/events/event.ts'
import { type EventOptions, eventStage } from '../../src/events/event-stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import { scripted } from './scripted.ts'

/** A run of the scripted engine, and its events. */
export interface Case {
  readonly name: string
  readonly chunks: readonly Chunk[]
  readonly options: EventOptions & Partial<Engine> & { readonly guard?: boolean }
  readonly events: readonly string[]
}

/**
 * Reads a document of cases:
 *
 *     # a name
 *     with {"doneMarker":"done"}         options of the run, or of the engine
 *     channels stdout,pty                the channels that are announced
 *     > ["message","a","Hello."]         a record on stdout with these reports
 *     pty> ["message","a","Hello."]      one on another channel
 *     out| text, err| text, pty| text    a line as it is; ended by \ it has no line end
 *     exit 1
 *     s0 message.final {"text":"Hello."} an event about the first line of stdout
 *     = unknown NO_END_SIGNAL            the end
 */
export function casesIn(path: string): Case[] {
  const [, ...parts] = readFileSync(path, 'utf8').split(/^# /m)
  return parts.map((part) => {
    const [name = '', ...lines] = part.trimEnd().split('\n')
    const chunks: Chunk[] = []
    const events: string[] = []
    let options = {}
    for (const line of lines) {
      const [word = '', ...words] = line.split(' ')
      const rest = words.join(' ')
      if (word === 'with') options = JSON.parse(rest)
      else if (word === 'exit') chunks.push(exitOf(rest))
      else if (word === 'channels')
        chunks.push({ channel: 'stdout', bytes: new Uint8Array(), channels: rest.split(',') as Channel[] })
      else if (word in writers)
        chunks.push({ channel: writers[word]!, bytes: Buffer.from(lineOf(word, rest)) })
      else if (line !== '') events.push(line)
    }
    return { name, chunks, options, events }
  })
}

const writers: Record<string, Channel> = {
  ...{ '>': 'stdout', 'out|': 'stdout', 'err>': 'stderr', 'err|': 'stderr', 'pty>': 'pty', 'pty|': 'pty' },
}

function lineOf(word: string, rest: string): string {
  if (word.endsWith('>')) return `[${rest}]\n`
  return rest.endsWith('\\') ? rest.slice(0, -1) : `${rest}\n`
}

function exitOf(words: string): Chunk {
  const [how = '', stopped] = words.split(' ')
  const code = Number(how)
  const more = stopped === undefined ? {} : { stopped }
  return Number.isNaN(code)
    ? { channel: 'exit', code: null, signal: how, ...more }
    : { channel: 'exit', code, signal: null, ...more }
}

/** The events of a case, as the document writes them. */
export function toldIn({ chunks, options }: Case): string[] {
  const { cut = scripted.cut, growing = false, guard = false, ...run } = options
  const engine = { ...scripted, cut, growing }
  const events = drive(eventStage(guard ? guarded(engine) : engine, { clock: () => 0, ...run }), chunks)
  return events.map((event) => told(event, chunks))
}

/**
 * Where, what, its data, and the confidence if it is not 0.95. The place is the number of the line on its
 * channel, such as `s0` for the first of stdout; raw text that is just that line is left out.
 */
function told(event: AgentEvent, chunks: readonly Chunk[]): string {
  const { type, data, raw_ref, source } = event
  if (type === 'lifecycle.completion.state') {
    // The plain words follow from the others: run-outcome.test.ts, cause.test.ts.
    const {
      state,
      reason_code,
      evidence,
      outcome: _,
      ok: __,
      problem: ___,
      failure_ref,
      ...more
    } = event.data
    const place = failure_ref && refIn(failure_ref, chunks)
    const facts = { ...known(evidence), ...more, ...(place && { failure_ref: place }) }
    return `= ${state} ${reason_code}${Object.keys(facts).length > 0 ? ` ${JSON.stringify(facts)}` : ''}`
  }
  const sure = source.confidence === 0.95 ? '' : ` @${source.confidence}`
  const short = type.replace(/^(agent|tool|lifecycle|diagnostic)\./, '')
  if (!raw_ref) return `end ${short} ${wordsOf(data)}${sure}`
  const { byte_from, byte_to } = raw_ref
  const whole =
    'line' in data && data.line === bytesOf(raw_ref, chunks).subarray(byte_from, byte_to).toString().trim()
  return `${refIn(raw_ref, chunks)} ${short}${whole ? '' : ` ${wordsOf(data)}`}${sure}`
}

function bytesOf({ stream }: RawRef, chunks: readonly Chunk[]): Buffer {
  return Buffer.concat(chunks.flatMap((chunk) => (chunk.channel === stream ? [chunk.bytes] : [])))
}

function refIn(ref: RawRef, chunks: readonly Chunk[]): string {
  return placeIn(bytesOf(ref, chunks), ref.stream, ref.byte_from, ref.byte_to)
}

function placeIn(bytes: Buffer, stream: Channel, from: number, to: number): string {
  const starts = [0]
  for (let lf = bytes.indexOf(10); lf >= 0; lf = bytes.indexOf(10, lf + 1)) starts.push(lf + 1)
  if (starts.at(-1) !== bytes.length) starts.push(bytes.length)
  const name = { stdout: 's', stderr: 'e', pty: 'p', stdin: 'i' }[stream]
  const [first, behind] = [starts.indexOf(from), starts.indexOf(to)]
  if (first < 0 || behind < 0) return `${name}@${from}-${to}`
  return behind === first + 1 ? `${name}${first}` : `${name}${first}..${behind}`
}

/** Without what a person knows anyway: the usual message of a code, and evidence that says nothing. */
function wordsOf(data: AgentEvent['data']): string {
  if (!('code' in data))
    return JSON.stringify(data, (key, value) => (key === 'evidence' ? known(value) : value))
  const { code, message, severity, confidence, ...more } = data
  const words = message === codes[code] ? code : `${code}: ${message.replace(codes[code], '…')}`
  return Object.keys(more).length > 0
    ? `${severity} ${words} ${JSON.stringify(more)}`
    : `${severity} ${words}`
}

const known = (evidence: object) =>
  Object.fromEntries(Object.entries(evidence).filter(([, value]) => value !== null && value !== false))
