import { type Gate, spans } from '../../json/balanced.ts'

/**
 * Takes closed `<think>` and `<thinking>` blocks out of a text, as far as they stand before its first
 * value: what comes later may be part of a string. Like the scanner, it knows a block only as the first
 * thing on a line, and ends it at its own closer. Gives the text back unchanged if there is none.
 *
 * @example
 * withoutThink('<think>{"a":0}</think>\n{"a":1}', gate) // '\n{"a":1}'
 */
export function withoutThink(text: string, gate: Gate): string {
  if (!text.includes('<think')) return text
  const kept: string[] = []
  let from = 0
  for (;;) {
    const opener = nextOpener(text, from)
    if (!opener) break
    if (!spans(text.slice(from, opener.at), gate).next().done) break
    const closer = text.indexOf(opener.closer, opener.at)
    if (closer < 0) break
    kept.push(text.slice(from, opener.at))
    from = closer + opener.closer.length
  }
  kept.push(text.slice(from))
  return kept.join('')
}

function nextOpener(text: string, from: number): { at: number; closer: string } | undefined {
  for (let at = text.indexOf('<think', from); at >= 0; at = text.indexOf('<think', at + 1)) {
    if (!isLineStart(text, at, from)) continue
    if (text.startsWith('<think>', at)) return { at, closer: '</think>' }
    if (text.startsWith('<thinking>', at)) return { at, closer: '</thinking>' }
  }
  return undefined
}

/** Only blanks between the line's start (or the end of the block before) and `at`. */
function isLineStart(text: string, at: number, from: number): boolean {
  let i = at - 1
  while (i >= from && i >= at - MAX_INDENT && (text[i] === ' ' || text[i] === '\t' || text[i] === '\r')) i--
  return i < from || text[i] === '\n' || text[i] === '\ufeff'
}

/** Looking back is bounded, so that blanks and openers in turn stay linear. */
const MAX_INDENT = 1024
