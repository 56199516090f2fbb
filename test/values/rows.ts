import { expect } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'

type Options = ValuesOptions<Schema | undefined> & { readonly channel?: Channel }

/** Options of its own, if it has any; the input; and a line for each outcome. */
export type Row = readonly [string, ...string[]] | readonly [Options, string, ...string[]]
/** What its rows have in common, the options of all of them, and the rows. */
export type Group = readonly [about: string, options: Options, rows: readonly Row[]]

/** Compares the outcomes of each row with its lines, for the input whole and byte by byte. */
export function expectRows(options: Options, rows: readonly Row[]): void {
  for (const size of [Number.POSITIVE_INFINITY, 1]) {
    const found = rows.map((row) => {
      const [own, text] = typeof row[0] === 'string' ? [{}, row[0]] : [row[0], row[1]!]
      const lines = linesOf(text as string, { ...options, ...own }, size)
      return typeof row[0] === 'string' ? [text, ...lines] : [own, text, ...lines]
    })
    expect(found, `in pieces of ${size}`).toEqual(rows)
  }
}

function linesOf(text: string, { channel = 'stdout', ...options }: Options, size: number): string[] {
  const bytes = Buffer.from(text)
  const chunks: Chunk[] = []
  for (let at = 0; at < bytes.length; at += size) {
    chunks.push({ channel, bytes: bytes.subarray(at, at + size) } as Chunk)
  }
  const dropped: string[] = []
  const counted = {
    onDropped: ({ unread, parsed }: { unread: number; parsed: number }) =>
      dropped.push(`dropped ${unread} ${parsed}`),
  }
  const stage = valueStage(options.where ? { ...options, ...counted } : options)
  const lines = drive(stage, chunks).map((outcome) => lineOf(outcome, bytes))
  return [...lines, ...dropped]
}

//  /issues/1 10-17 {"a":1} +dropped a comma@15 !DUPLICATE_KEY
//  ^ path    ^ from-to     ^ a repair, and where  ^ a note
//  tag 0-12 open TRUNCATED@12
//  ^ kind, if there is no path
/**
 * An outcome on one line: its place, its value or fault with its place, what is incomplete, and its notes.
 */
function lineOf(outcome: Outcome<unknown>, input: Buffer): string {
  const { frame, notes } = outcome
  const place = frame.path === '' ? 'root' : (frame.path ?? frame.kind)
  const words = [place, `${frame.from}-${frame.to}`]
  if (frame.open) words.push('open')
  if (outcome.ok) {
    words.push(JSON.stringify(outcome.value))
    if (outcome.incomplete) words.push(`…[${outcome.incomplete.join()}]`)
  } else {
    const { fault, comment } = outcome
    words.push(fault.code + (fault.at === undefined ? '' : `@${fault.at}`))
    // The usual comment is the whole input.
    const whole = comment && !comment.truncated && comment.to === input.length && comment.from === 0
    if (comment && !(whole && comment.text === input.toString()))
      words.push(`"${comment.text}"${comment.truncated ? '…' : ''}${comment.from}-${comment.to}`)
  }
  for (const { code, at, places, changes } of notes) {
    if (changes) words.push(...changes.map((change) => `+${change.kind}@${change.at}`))
    else words.push(`!${code}${places ? `@${places}` : at === undefined ? '' : `@${at}`}`)
  }
  return words.join(' ')
}
