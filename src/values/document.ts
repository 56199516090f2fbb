import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isBlank,
  LESS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../frames/bytes.ts'
import { type GateKind, gate } from '../frames/gate.ts'
import type { Inside, Scan } from '../frames/scan.ts'
import { Guess, headAt } from './guess.ts'
import { EVERY, type Place, placeOf, type Selection } from './selection.ts'
import { Walk } from './walk.ts'

/** A piece of a document, in clean positions. */
export interface Piece {
  readonly from: number
  readonly to: number
  /** Where in the document, as a JSON pointer. */
  readonly path: string
  /** How the document itself needed help. */
  readonly why: string | undefined
}

/** What a document hands out. */
export interface ItemSink {
  /** Takes a guess: false, and as if nothing had been, unless the piece is JSON as it is. */
  guessed(piece: Piece): boolean
  /** A whole element, good or bad. */
  item(piece: Piece): void
  /** An element in which the document broke off. */
  itemCut(piece: Piece): void
  /** The element at `from` outgrew `maxFrame`. */
  itemTooLong(path: string, from: number): void
  /** A document that began at the original offset `from` broke off at `end`, between two elements in `path`. */
  documentCut(path: string, from: number, end: number): void
  /** The place of the items was found, with or without items in it. */
  found(): void
}

export interface DocumentOptions {
  readonly selections: readonly Selection[]
  readonly tag: string
  /** Whether a block begins with a document, or may begin with anything else. */
  readonly needsPayload: boolean
  readonly sink: ItemSink
}

/** Begins documents, at a tag or at a bracket. */
export interface DocumentMachine {
  /** The block of a tag that opens at `from`. */
  openBlock(from: number): void
  /** What begins with the bracket at `from`; `why` is undefined if it is the first thing of the input. */
  openBare(from: number, kind: GateKind, why: string | undefined): void
}

/**
 * Walks through a document of any size and hands out the elements that are selected, each as it closes. Only
 * the element under way is held. The containers on the way to the selections are read here, byte by byte; what
 * stands in them is walked over whole.
 *
 *     <json>{"summary":"…","issues":[{"a":1},{"a":2}]}</json>
 *           ^ level 0               ^ level 1  ^ element /issues/1
 *
 * What is not JSON here is passed over where it stands, so that the rest can go on.
 */
export function documentMachine(scan: Scan, options: DocumentOptions): DocumentMachine {
  const { tape } = scan
  const { sink } = options
  const opener = Buffer.from(`<${options.tag}>`)
  const closer = Buffer.from(`</${options.tag}>`)
  const walk = new Walk(scan)
  const guess = new Guess(tape)
  let doc = newDocument(0, false, undefined, undefined)

  function newDocument(
    from: number,
    block: boolean,
    judge: ReturnType<typeof gate> | undefined,
    why: string | undefined,
  ) {
    return {
      from,
      /** Where that was in the original: the bytes themselves are let go. */
      origin: tape.origin(from),
      block,
      why,
      judge,
      stage: (block ? 'before' : 'gate') as Stage,
      at: from + (block ? opener.length : 1),
      levels: [] as Level[],
      /** The array that was closed just now, in case its bracket was one too many. */
      closed: undefined as Level | undefined,
      /** The place of the items has been found: from here on nothing is taken for prose any more. */
      found: false,
      /** Whether it is one beyond doubt: in a tag, or the first thing of the input. */
      sure: block || why === undefined,
      /** Something before the next element was not JSON. */
      odd: false,
      name: '' as string | undefined,
      keyFrom: 0,
      keyQuoted: false,
      /** The element under way; -1 while what is walked over is not wanted, or too long to be held. */
      itemFrom: -1,
      itemPath: '',
    }
  }

  const inside: Inside = {
    keep() {
      if (doc.stage === 'walk') return doc.itemFrom >= 0 ? doc.itemFrom : Math.min(walk.keep, tape.end)
      if (doc.stage === 'gate') return doc.from
      if (doc.stage === 'in key' && !isLongKey()) return doc.keyFrom
      return Math.min(doc.at, tape.end)
    },
    look() {
      const { emitted } = scan
      for (;;) {
        const step = steps[doc.stage]()
        if (step !== 'on') return step === 'left'
        // The turn may be over.
        if (scan.emitted !== emitted) return true
      }
    },
    finish() {
      const string = doc.stage === 'walk' ? walk.openString : -1
      const close = doc.block && string >= 0 ? tape.view.indexOf(closer, string - tape.base) : -1
      if (close >= 0) {
        // A string that never ends: the tag in it was the end of the block.
        breakOff(close + tape.base)
        scan.leave(close + tape.base + closer.length)
        return
      }
      if (doc.stage === 'walk' && doc.itemFrom >= 0 && walk.wholeString) {
        takeItem(walk.to, false)
        doc.stage = 'comma'
      }
      breakOff(tape.end)
      scan.leave(tape.end)
    },
  }

  const steps: Record<Stage, () => Step> = {
    gate: passGate,
    before: findStart,
    value: expectValue,
    key: expectKey,
    'in key': readKey,
    colon: expectColon,
    comma: expectComma,
    walk: walkOn,
  }

  function passGate(): Step {
    const limit = scan.limit(doc.from)
    for (; doc.at < Math.min(limit, tape.end); doc.at++) {
      const opens = doc.judge?.(scan.byte(doc.at) ?? 0)
      if (opens === undefined) continue
      if (!opens) return leave(doc.at)
      // The bytes behind the bracket are read again, as what they are.
      doc.at = doc.from
      return begin()
    }
    return tape.end < limit ? 'wait' : leave(limit)
  }

  //  <json> ```json {
  //        ^^^^^^^^^  before
  function findStart(): Step {
    for (; doc.at < tape.end; doc.at++) {
      const byte = scan.byte(doc.at)
      if (isBlank(byte)) continue
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return begin()
      if (options.needsPayload) return leave(doc.at)
      if (byte === LESS) {
        const tag = tagAt(doc.at)
        if (tag === undefined) return 'wait'
        if (tag) return leaveAtTag(doc.at)
      }
      doc.why = 'took the first object'
    }
    return 'wait'
  }

  function begin(): Step {
    enter(scan.byte(doc.at) as number, '', options.selections)
    return 'on'
  }

  /** Goes into a container that leads to a selection. */
  function enter(bracket: number, path: string, selections: readonly Selection[]): void {
    const array = bracket === OPEN_BRACKET
    const depth = doc.levels.length
    const steps = selections.map((selection) => selection[depth])
    // In an array nearly every element has the same place, so it is found once.
    const same = steps.every((step) => step === EVERY || !isIndex(step))
    const every = array && same ? placeOf(selections, depth, undefined) : undefined
    doc.levels.push({ array, path, selections, index: 0, every, thousand: -1, stem: '' })
    doc.at++
    doc.stage = array ? 'value' : 'key'
    if (array && selections.some((one) => one.length === depth + 1 && one[depth] === EVERY)) found()
  }

  function expectValue(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    const level = doc.levels.at(-1) as Level
    switch (byte) {
      case COMMA:
        if (notJson()) return leave(doc.at)
        return toNext(level, true)
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return close(byte)
      case LESS: {
        const tag = tagAt(doc.at)
        if (tag === undefined) return 'wait'
        if (tag) return leaveAtTag(doc.at)
      }
    }
    const place = level.every ?? placeOf(level.selections, doc.levels.length - 1, nameIn(level))
    if (place.selected) return expectItem(level, byte)
    if (place.deeper.length > 0 && (byte === OPEN_BRACE || byte === OPEN_BRACKET)) {
      enter(byte, pathIn(level), place.deeper)
      return 'on'
    }
    return startWalk(level, -1, '')
  }

  function nameIn(level: Level): string | undefined {
    return level.array ? String(level.index) : doc.name
  }

  function pathIn(level: Level): string {
    return level.array ? indexPath(level) : `${level.path}/${escaped(doc.name)}`
  }

  function expectItem(level: Level, byte: number): Step {
    found()
    const from = doc.at
    const path = pathIn(level)
    if (level.array && byte === OPEN_BRACE) {
      const to = guess.end(from, Math.min(scan.limit(from), tape.end))
      if (to >= 0) {
        if (sink.guessed({ from, to, path, why: whyNow() })) {
          guess.read(from, to)
          doc.odd = false
          doc.at = guess.next
          level.index++
          return 'on'
        }
        guess.missed(from, to)
      }
    }
    return startWalk(level, from, path)
  }

  function startWalk(level: Level, itemFrom: number, path: string): Step {
    doc.itemFrom = itemFrom
    doc.itemPath = path
    doc.stage = 'walk'
    let head: Buffer | undefined
    let known = false
    const findHead = () => {
      // The element is held while its head is asked for; when it is let go the answer stays.
      if (!known) head = headAt(tape.view, itemFrom - tape.base)
      known = true
      return head
    }
    walk.begin(doc.at, {
      tagAt,
      strict: isDoubtful(),
      inArray: level.array,
      head: itemFrom >= 0 && level.array ? findHead : undefined,
    })
    return 'on'
  }

  function walkOn(): Step {
    const limit = doc.itemFrom >= 0 ? scan.limit(doc.itemFrom) : Number.POSITIVE_INFINITY
    const walked = walk.run(Math.min(limit, tape.end))
    switch (walked) {
      case 'wait':
        if (tape.end < limit) return 'wait'
        sink.itemTooLong(doc.itemPath, doc.itemFrom)
        doc.itemFrom = -1
        return 'on'
      case 'odd':
        return leave(walk.at)
      case 'tag':
        return leaveAtTag(walk.at)
      case 'end':
        break
      default:
        return walked satisfies never
    }
    if (doc.itemFrom >= 0) takeItem(walk.to, false)
    else if (walk.odd) doc.odd = true
    doc.at = walk.at
    doc.stage = 'comma'
    return walk.passedComma ? toNext(doc.levels.at(-1) as Level, false) : 'on'
  }

  function takeItem(to: number, cut: boolean): void {
    const { itemFrom: from, itemPath: path } = doc
    guess.read(from, to)
    const piece = { from, to, path, why: whyNow() }
    if (cut) sink.itemCut(piece)
    else sink.item(piece)
    doc.odd = false
    doc.itemFrom = -1
  }

  function expectKey(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    const { closed } = doc
    doc.closed = undefined
    doc.name = undefined
    doc.keyFrom = doc.at
    doc.keyQuoted = byte === QUOTE
    switch (byte) {
      case QUOTE:
        doc.stage = 'in key'
        doc.at++
        return 'on'
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return close(byte)
      case LESS: {
        const tag = tagAt(doc.at)
        if (tag === undefined) return 'wait'
        if (tag) return leaveAtTag(doc.at)
      }
    }
    if (notJson()) return leave(doc.at)
    if (byte === COMMA) doc.at++
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (closed) doc.levels.push(closed)
      if (closed) closed.index++
      doc.stage = 'value'
    } else doc.stage = byte === COLON ? 'colon' : 'in key'
    return 'on'
  }

  //  {"name": 1, name: 1, 'name': 1}
  //    ^^^^^     ^^^^     ^^^^^^   in key
  function readKey(): Step {
    const { view, base } = tape
    let i = doc.at - base
    let done = false
    while (i < view.length && !done) {
      const byte = view[i] as number
      if (doc.keyQuoted) {
        i += byte === BACKSLASH ? 2 : 1
        done = byte === QUOTE
      } else if (endsWord(byte)) done = true
      else i++
    }
    doc.at = i + base
    if (!done) return 'wait'
    doc.name = isLongKey() ? undefined : nameOf(scan.decode(doc.keyFrom, doc.at))
    doc.stage = 'colon'
    return 'on'
  }

  function isLongKey(): boolean {
    return doc.at - doc.keyFrom > MAX_NAME
  }

  function expectColon(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    doc.stage = 'value'
    if (byte === COLON) doc.at++
    else if (notJson()) return leave(doc.at)
    return 'on'
  }

  function expectComma(): Step {
    const byte = nextByte()
    if (byte === undefined) return 'wait'
    const level = doc.levels.at(-1) as Level
    switch (byte) {
      case COMMA:
        return toNext(level, true)
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return close(byte)
      case LESS: {
        const tag = tagAt(doc.at)
        if (tag === undefined) return 'wait'
        if (tag) return leaveAtTag(doc.at)
      }
    }
    if (notJson()) return leave(doc.at)
    return toNext(level, false)
  }

  function toNext(level: Level, pastComma: boolean): 'on' {
    if (pastComma) doc.at++
    level.index++
    doc.stage = level.array ? 'value' : 'key'
    return 'on'
  }

  /** A closing bracket also closes the containers that were left open inside its pair. */
  function close(byte: number): Step {
    const array = byte === CLOSE_BRACKET
    const index = doc.levels.findLastIndex((level) => level.array === array)
    if (index !== doc.levels.length - 1 && notJson()) return leave(doc.at)
    doc.at++
    if (index < 0) return 'on'
    doc.closed = array && doc.levels[index - 1]?.array === false ? doc.levels[index] : undefined
    doc.levels.length = index
    if (index === 0) return leave(doc.at)
    doc.stage = 'comma'
    return 'on'
  }

  /** The document is over before its end: says so, if it was one. */
  function breakOff(to: number): void {
    if (doc.stage === 'walk' && doc.itemFrom >= 0) takeItem(to, true)
    else if (doc.levels.length > 0 && !isDoubtful()) {
      sink.documentCut(doc.levels.at(-1)?.path ?? '', doc.origin, to)
    }
  }

  function leaveAtTag(at: number): Step {
    breakOff(at)
    return leave(at)
  }

  function leave(position: number): 'left' {
    scan.leave(position)
    return 'left'
  }

  function found(): void {
    if (!doc.found) sink.found()
    doc.found = true
  }

  /** Nothing but its brackets says that this is a document. */
  function isDoubtful(): boolean {
    return !doc.sure && !doc.found
  }

  /** Something is not JSON: true if it is prose then. */
  function notJson(): boolean {
    doc.odd = true
    return isDoubtful()
  }

  function whyNow(): string | undefined {
    return doc.why ?? (doc.odd ? 'passed over what is not JSON' : undefined)
  }

  function nextByte(): number | undefined {
    const { view, base } = tape
    let i = doc.at - base
    while (i < view.length && isBlank(view[i])) i++
    doc.at = i + base
    return view[i]
  }

  /** Whether a tag stands here that ends the document: an opener, or the closer of its block. */
  function tagAt(position: number, bound = tape.end): boolean | undefined {
    const begun = begins(opener, position, bound)
    if (begun === true || !doc.block) return begun
    const closed = begins(closer, position, bound)
    return closed === true || (closed === false && begun === false) ? closed : undefined
  }

  function begins(tag: Buffer, position: number, bound: number): boolean | undefined {
    const i = position - tape.base
    const length = Math.min(tag.length, bound - position)
    if (tape.view.compare(tag, 0, length, i, i + length) !== 0) return false
    if (length === tag.length) return true
    return scan.ended && bound === tape.end ? false : undefined
  }

  return {
    openBlock(from) {
      doc = newDocument(from, true, undefined, undefined)
      scan.enter(inside)
    },
    openBare(from, kind, why) {
      doc = newDocument(from, false, gate(kind, scan.byte(from) ?? 0), why)
      scan.enter(inside)
    },
  }
}

type Stage = 'gate' | 'before' | 'value' | 'key' | 'in key' | 'colon' | 'comma' | 'walk'
type Step = 'on' | 'wait' | 'left'

/** A container on the way to a selection. There are never more of them than a selection has steps. */
interface Level {
  readonly array: boolean
  readonly path: string
  /** The selections that lead here. */
  readonly selections: readonly Selection[]
  index: number
  /** What every element is, if none has a place of its own. */
  readonly every: Place | undefined
  /** The path of the elements so far as it is the same for a thousand of them. */
  stem: string
  thousand: number
}

/**
 * The path of the element at hand. Put together from pieces: what turns numbers into strings keeps thousands
 * of the last ones alive, and then V8 makes its young generation as large as it gets, three times the rest.
 */
function indexPath(level: Level): string {
  const { index } = level
  const low = index % 1000
  const thousand = (index - low) / 1000
  if (thousand !== level.thousand) {
    level.thousand = thousand
    level.stem = thousand === 0 ? `${level.path}/` : `${level.path}/${thousand}`
  }
  return level.stem + ((thousand === 0 ? FIRST[low] : LATER[low]) as string)
}

/** 0, 1, … 999 as they stand alone, and as they stand behind a thousand. */
const FIRST = Array.from({ length: 1000 }, (_, i) => String(i))
const LATER = FIRST.map((digits) => digits.padStart(3, '0'))

/** Longer names are not read. */
const MAX_NAME = 4096

function isIndex(step: string | undefined): boolean {
  return step !== undefined && /^\d+$/.test(step)
}

/** What a name without quotes cannot hold. */
function endsWord(byte: number): boolean {
  return WORD_ENDS.includes(byte)
}

const WORD_ENDS = Buffer.from(':,{}[]"<')

/** The name that a key spells, in whatever quotes. */
function nameOf(key: string): string {
  if (key[0] === '"' && key.includes('\\')) {
    try {
      return String(JSON.parse(key))
    } catch {
      return key.slice(1, -1)
    }
  }
  const word = key.trim()
  const quoted = word.length > 1 && (word[0] === '"' || word[0] === "'") && word.at(-1) === word[0]
  return quoted ? word.slice(1, -1) : word
}

/** A name as a step of a JSON pointer. */
function escaped(name: string | undefined): string {
  if (name === undefined) return '…'
  return name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name
}
