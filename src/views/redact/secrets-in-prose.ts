import { classTable } from '../../text/characters.ts'
import { AS, endOf, FOR_KEY, isAt, LABEL, LEVEL, NETRC, SETTING } from './named.ts'
import { RARE_PAIR } from './names.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
/** Digits and signs of what has been made up, and quotes. */
const isMadeUnit = /* @__PURE__ */ classTable([1, '0123456789!@#$%^&*'], [2, '"\'`'])
/** By two letters, whether no word has them side by side. Pure: a bundle can leave it out. */
const isRare = /* @__PURE__ */ rarePairs()

function rarePairs(): Uint8Array {
  const is = new Uint8Array(32 * 32)
  for (const first of LETTERS)
    for (const second of LETTERS)
      if ((first + second).search(RARE_PAIR) === 0) is[pairOf(first.charCodeAt(0), second.charCodeAt(0))] = 1
  return is
}

function pairOf(first: number, second: number): number {
  return ((first & 31) << 5) | (second & 31)
}

/** Where a sentence ends, or is none; and where it does if a blank follows. */
const SAID_UNTIL = /* @__PURE__ */ classTable([1, '\n\\";,{}<>=|'], [2, '.!?'])
const MAX_SAID = 120

/** Where what is said from a place on ends; names of one sentence share its end. */
function sentences(text: string): (from: number) => number {
  let [start, end] = [0, -1]
  return (from) => {
    const last = Math.min(text.length, from + MAX_SAID)
    if (from >= start && from < end) return Math.min(end, last)
    let at = from
    for (; at < last; at++) {
      const kind = SAID_UNTIL[text.charCodeAt(at)]
      if (kind === 1 || (kind === 2 && (text[at + 1] ?? ' ') === ' ')) break
    }
    if (at < last) [start, end] = [from, at]
    return at
  }
}

/**
 * Finds the next character that a word has which has been made up: a digit, a sign, a quote before it, or a
 * letter in no order. Few sentences about passwords have one, and each character is read once.
 */
function madeWords(text: string): (from: number) => number {
  let [start, next] = [0, -1]
  return (from) => {
    if (from < start || next < from) [start, next] = [from, nextIn(text, from)]
    return next
  }
}

function nextIn(text: string, from: number): number {
  let last = 0
  let [rare, capitals] = [0, 0]
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const isLetter = (unit | 32) >= 97 && (unit | 32) <= 122
    if (isLetter) {
      if (unit < 97) capitals++
      if (last !== 0) rare += isRare[pairOf(last, unit)]!
      if (rare > 2 || capitals > 2) return at
    } else {
      if (unit >= 128 || isMadeUnit[unit] === 1 || (isMadeUnit[unit] === 2 && last === 0)) return at
      rare = capitals = 0
    }
    last = isLetter ? unit : 0
  }
  return text.length
}

/**
 * The end of a name that is only talked about: no word of its sentence has been made up, and nothing before
 * it makes the next word its value. -1 for others. Most names in prose need nothing else.
 */
export function talkIn(text: string): (at: number) => number {
  const [nextMade, saidUntil] = [madeWords(text), sentences(text)]
  return (at) => {
    const after = endOf(TALK, text, at)
    if (after < 0) return -1
    const end = saidUntil(after)
    if (text[end - 1] === ':' || '=<\\'.includes(text[end] ?? ' ')) return -1
    if (nextMade(after) < blankFrom(text, end) || endOf(LEVEL, text, after) >= 0) return -1
    return [AS, SETTING, NETRC, LABEL, FOR_KEY].some((before) => isAt(before, text, at)) ? -1 : after
  }
}

const TALK = /(?<=[A-Za-z,.] )(?:passwords?|tokens?|credentials|passphrase)(?= [a-z]|[.,?](?:[ \n]|$))/y
const MAX_WORD = 256

/** The end of the word here. */
function blankFrom(text: string, from: number): number {
  let at = from
  while (at < text.length && at - from < MAX_WORD && text.charCodeAt(at) > 32) at++
  return at
}
