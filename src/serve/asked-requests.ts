import { Tail } from '../disk/tail.ts'
import { isRecord } from '../events/engine.ts'
import { LF } from '../text/characters.ts'
import type { RunPlace } from './run-place.ts'
import { turn } from './turns.ts'

/** What a journal tells about a request. */
export interface AskedRequest {
  readonly title: string
  readonly options: readonly Choice[]
  readonly questions: readonly Choice[]
  settled: boolean
}

/** An option with its label, or a question with its text. */
export interface Choice {
  readonly id: string
  readonly text: string
}

/** What a journal tells about requests and orders. */
interface Known {
  readonly requests: ReadonlyMap<string, AskedRequest>
  /** What became of orders, by their ids: `done`, or why not. */
  readonly orders: ReadonlyMap<string, string>
}

/** Runs to remember. */
const MAX_RUNS = 64
/** Lines that ask, or tell an end, begin like this after their ids. */
const STATUS = Buffer.from('"type":"lifecycle.run.status"')
/** Bytes of a line that are held; a request is not longer. */
const MAX_LINE = 4 << 20

/** The requests of runs, read from their journals as these grow. */
export class AskedRequests {
  readonly #runs = new Map<string, JournalRequests>()

  async of({ key, within, journal }: RunPlace): Promise<Known> {
    const path = journal()
    if (path === undefined) return { requests: new Map(), orders: new Map() }
    let run = this.#runs.get(key)
    this.#runs.delete(key)
    run ??= new JournalRequests(path, within)
    this.#runs.set(key, run)
    for (const [old, { close }] of this.#runs) {
      if (this.#runs.size <= MAX_RUNS) break
      this.#runs.delete(old)
      close()
    }
    await run.read()
    return run
  }

  close(): void {
    for (const { close } of this.#runs.values()) close()
    this.#runs.clear()
  }
}

class JournalRequests implements Known {
  readonly requests = new Map<string, AskedRequest>()
  readonly orders = new Map<string, string>()
  readonly #tail: Tail
  #rest: Buffer[] = []
  #size = 0

  constructor(path: string, within: string) {
    this.#tail = new Tail(path, within)
  }

  async read(): Promise<void> {
    for (let piece = this.#tail.read(); piece; piece = this.#tail.read()) {
      if (piece.restarted) this.#forget()
      let from = 0
      for (let end = piece.bytes.indexOf(LF); end >= 0; end = piece.bytes.indexOf(LF, from)) {
        this.#hold(piece.bytes.subarray(from, end))
        this.#line()
        from = end + 1
      }
      this.#hold(piece.bytes.subarray(from))
      await turn()
    }
  }

  readonly close = (): void => this.#tail.close()

  #forget(): void {
    this.requests.clear()
    this.orders.clear()
    this.#rest = []
    this.#size = 0
  }

  #hold(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > MAX_LINE) this.#rest = []
    else this.#rest.push(bytes)
  }

  #line(): void {
    const line = Buffer.concat(this.#rest)
    this.#rest = []
    this.#size = 0
    if (!line.subarray(0, 200).includes(STATUS)) return
    try {
      this.#take(JSON.parse(line.toString()).data)
    } catch {
      // Another program may have written it.
    }
  }

  #take(data: unknown): void {
    if (!isRecord(data)) return
    const { status, request, request_id, id, result, why } = data
    if (isRecord(request) && typeof request['id'] === 'string')
      this.requests.set(request['id'], {
        title: String(request['title']),
        options: choicesIn(request['options'], 'label'),
        questions: choicesIn(request['questions'], 'question'),
        settled: false,
      })
    if (status === 'control' && typeof id === 'string')
      this.orders.set(id, result === 'done' ? result : String(why ?? result))
    const settled = typeof request_id === 'string' ? this.requests.get(request_id) : undefined
    if (settled) settled.settled = true
  }
}

function choicesIn(list: unknown, name: string): Choice[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((each) =>
    isRecord(each) && typeof each['id'] === 'string' ? [{ id: each['id'], text: String(each[name]) }] : [],
  )
}
