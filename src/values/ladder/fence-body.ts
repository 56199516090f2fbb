import { type Gate, skipBlanks, spans } from '../../json/balanced.ts'

/**
 * The bodies of the fenced blocks in a text that can be payloads: those labelled json, json5 or jsonc,
 * and those without a label whose body starts like JSON. A fence line inside a balanced value is part of
 * that value (a string may hold one), and opens nothing.
 *
 * @example
 * [...fenceBodies('Done:\n```json\n{"a":1}\n```', gate)] // ['{"a":1}']
 */
export function* fenceBodies(text: string, gate: Gate): Generator<string> {
  if (!text.includes('```') && !text.includes('~~~')) return
  const values = spans(text, gate)
  let span = values.next().value
  let line = 0
  while (line < text.length) {
    while (span && span.to >= 0 && line >= span.to) span = values.next().value
    const end = lineEnd(text, line)
    const fence = openerAt(text, line, end)
    if (!fence || (span && line > span.from && line < span.to)) {
      line = end + 1
      continue
    }
    const closer = closerAfter(text, end + 1, fence)
    const body = text.slice(end + 1, closer.from)
    if (isPayloadFence(fence.info, body)) yield body
    line = closer.to
  }
}

/**
 * Is a fence with this info string and body a payload?
 *
 * @example
 * isPayloadFence('JSON title=x', '') // true
 */
export function isPayloadFence(info: string, body: string): boolean {
  if (info === '') {
    const first = body[skipBlanks(body, 0)]
    return first === '{' || first === '['
  }
  const blank = info.search(/[ \t]/)
  const word = (blank < 0 ? info : info.slice(0, blank)).toLowerCase()
  return word === 'json' || word === 'json5' || word === 'jsonc'
}

interface Fence {
  readonly mark: string
  readonly length: number
  readonly info: string
}

/** An info string longer than this is no label, it is prose behind three backticks. */
const MAX_INFO = 1024

function openerAt(text: string, line: number, end: number): Fence | undefined {
  const at = indentEnd(text, line)
  const mark = text[at]
  if (at - line > 3 || (mark !== '`' && mark !== '~')) return undefined
  const length = runLength(text, at)
  if (length < 3 || end - at - length > MAX_INFO) return undefined
  const info = text.slice(at + length, end).trim()
  if (mark === '`' && info.includes('`')) return undefined
  return { mark, length, info }
}

/** Where the body stops, and where the line after the closer starts. An unclosed fence runs to the end. */
function closerAfter(text: string, from: number, fence: Fence): { from: number; to: number } {
  for (let line = from; line < text.length; ) {
    const end = lineEnd(text, line)
    const at = indentEnd(text, line)
    if (at - line <= 3 && text[at] === fence.mark) {
      const length = runLength(text, at)
      if (length >= fence.length && skipBlanks(text, at + length) >= end) {
        return { from: Math.max(from, line - 1), to: end + 1 }
      }
    }
    line = end + 1
  }
  return { from: text.length, to: text.length }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

function indentEnd(text: string, line: number): number {
  let i = line
  while (i < line + 4 && text[i] === ' ') i++
  return i
}

function runLength(text: string, at: number): number {
  let i = at
  while (text[i] === text[at] && i < text.length) i++
  return i - at
}
