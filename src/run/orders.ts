import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { isText } from '../base/check-options.ts'
import { badOption, clip, Fault, orElse, quote } from '../base/fault.ts'
import { codeOf, diskFault } from '../base/system-error-code.ts'
import { makeRunDir } from '../disk/journal.ts'
import { isInside, openPlain, readBlock, withPlain } from '../disk/plain-file.ts'
import { Tail } from '../disk/tail.ts'
import { watchPath } from '../disk/wake.ts'
import { isRecord } from '../events/engine.ts'
import { jsonValue } from '../json/strict.ts'
import { isSameProcess, processStart } from '../process/tree.ts'
import { LF } from '../text/characters.ts'
import type { ToldOrder } from '../text/chunk.ts'
import { listAttempts } from './attempt-logs.ts'
import { readMeta } from './meta.ts'

/** What a run is told to do from elsewhere. It never names a path, a command or an option of one. */
export interface Order {
  /** Each is acted on once. */
  readonly id: string
  readonly at: string
  /** Where it comes from: `page`, `terminal`. */
  readonly by: string
  readonly do: 'answer' | 'interrupt' | 'stop'
  /** Of an answer: the id of the request, and one of its options, or the answers to its questions. */
  readonly request?: string
  readonly option?: string
  readonly answers?: Readonly<Record<string, string | readonly string[]>>
  /** Of `stop`: without a chance to end in order. */
  readonly now?: boolean
}

/** The attempt of a run that takes orders, and the real path of the directory that it is recorded in. */
export interface OrderedRun {
  readonly runId: string
  readonly attempt: number
  readonly dir: string
}

/** The newest attempt in a directory, if its recorder took orders. */
export function orderedRun(dir: string, within?: string): OrderedRun | undefined {
  const last = listAttempts(dir, within).at(-1)
  const meta = readMeta(last?.meta, last?.within)
  if (!last || !meta?.control || meta.run_id === undefined || meta.ended_at !== undefined) return undefined
  return { runId: meta.run_id, attempt: last.number, dir: orElse(() => fs.realpathSync(dir), dir) }
}

/** Bytes of one order; a longer line is none. */
export const MAX_ORDER = 64 << 10
/** Bytes of all orders that one attempt is given: each new one is looked for among them. */
const MAX_FILE = 8 << 20
/** The run reads no further: several may have been given at once just below the limit. */
const MAX_READ = 2 * MAX_FILE
/** The first line says whose orders these are. */
const MAX_HEAD = 16 << 10
/** Files of other runs that are looked at to remove those of dead ones. */
const MAX_SWEPT = 1000

/** Where the orders are: not in the directory of a run, where its agent may write. */
export function ordersDir(): string {
  const state = process.env['XDG_STATE_HOME'] ?? ''
  const base = isAbsolute(state) ? state : join(homedir(), '.local', 'state')
  return join(base, 'agent-sluice', 'control')
}

export function ordersPath({ runId, attempt }: Omit<OrderedRun, 'dir'>): string {
  const name = /^\w[\w.-]{0,127}$/.test(runId)
    ? runId
    : `=${Buffer.from(runId).toString('base64url').slice(0, 200)}`
  return join(ordersDir(), `${name}.${attempt}.jsonl`)
}

/** The fault of an order that the run does not take. */
export function refused(why: string, cause?: unknown): Fault {
  return new Fault('ORDER_REFUSED', why, { cause })
}

const KEYS: Readonly<Record<Order['do'], readonly string[]>> = {
  answer: ['request', 'option', 'answers'],
  interrupt: [],
  stop: ['now'],
}

/** Checks an order that came from elsewhere: what is given is kept, the rest is made. Throws BAD_OPTION. */
export function readOrder(value: unknown, by: string): Order {
  if (!isRecord(value)) throw badOption('an order is a JSON object such as {"do":"interrupt"}')
  const { id = randomUUID(), do: does, request, option, answers, now } = value
  if (!isId(id)) throw badOption('the id of an order has 1 to 64 letters, digits, - and _')
  if (does !== 'answer' && does !== 'interrupt' && does !== 'stop')
    throw badOption('an order has "do": "answer", "interrupt" or "stop"')
  const odd = Object.keys(value).find((key) => !['id', 'do', ...KEYS[does]].includes(key))
  if (odd !== undefined) throw badOption(`an order to ${does} has no ${quote(odd, 60)}`)
  const head = { id, at: new Date().toISOString(), by, do: does as Order['do'] } // cast: one of them
  if (does === 'interrupt') return head
  if (does === 'stop') {
    if (now !== undefined && typeof now !== 'boolean') throw badOption('now must be true or false')
    return now ? { ...head, now } : head
  }
  if (!isText(request) || request === '') throw badOption('an answer names its request')
  if ((option === undefined) === (answers === undefined))
    throw badOption('an answer has an option of its request, or answers to its questions')
  if (option !== undefined && !isText(option)) throw badOption('option must be the id of an option')
  if (answers !== undefined && !areAnswers(answers))
    throw badOption('answers must have a text, or a list of texts, for each question')
  return {
    ...head,
    request,
    ...(isText(option) ? { option } : { answers: answers as Order['answers'] & object }),
  }
}

const isId = (id: unknown): id is string => isText(id) && /^[\w-]{1,64}$/.test(id)

function areAnswers(value: unknown): value is Order['answers'] {
  const fits = (words: unknown) => isText(words) || (Array.isArray(words) && words.every(isText))
  return isRecord(value) && Object.values(value).every(fits)
}

/** Reads the text of an order that was checked before, elsewhere. Throws BAD_OPTION. */
export function orderIn(text: string): Order {
  const { at, by, ...given } = Object(jsonValue(text)) as Record<string, unknown> // cast: any object
  const order = readOrder(given, isText(by) && /^[^\p{C}]{1,60}$/u.test(by) ? by : 'unknown')
  if (given['id'] === undefined) throw badOption('an order that is passed on has an id')
  return { ...order, at: isText(at) ? at.slice(0, 40) : order.at }
}

/** Why a line of the file is not an order. */
interface NoOrder {
  readonly id: string
  readonly why: string
}

interface OrderDesk {
  /** Does an order, or returns why not. */
  readonly act: (order: Order) => string | undefined
  /** Records that an order is about to be done, or what became of it. False if it cannot be recorded. */
  readonly tell: (when: 'taken' | 'control', order: ToldOrder) => boolean
}

/** How often to look for orders without a watcher. */
const POLL_MS = 200
/** Characters of the reason why an order was not done. */
const MAX_WHY = 500

/**
 * Takes the orders of a run, each once: it is recorded before it is done, and what became of it after that.
 * The file is made when this is, and removed when it is closed.
 */
export class Orders {
  readonly path: string
  readonly #desk: OrderDesk
  readonly #tail: Tail
  readonly #head: string
  #rest: Buffer[] = []
  #size = 0
  /** Where the line begins. */
  #from = 0
  readonly #seen = new Set<string>()
  #unwatch = () => {}
  #closed = false

  /** Throws if the orders could be written by somebody else, or by the agent that works in `cwd`. */
  constructor(run: OrderedRun, cwd: string, desk: OrderDesk) {
    const { runId, attempt, dir } = run
    const folder = ordersDir()
    this.path = ordersPath(run)
    this.#desk = desk
    const started = processStart(process.pid)
    this.#head = JSON.stringify({ run: runId, attempt, dir, pid: process.pid, started, host: hostname() })
    makeRunDir(folder)
    checkFolder(folder)
    const realOf = (path: string) => orElse(() => fs.realpathSync(path), path)
    const reach = [cwd, dir].find((place) => isInside(fs.realpathSync(folder), realOf(place)))
    if (reach !== undefined)
      throw badOption(
        `control: the agent works in ${quote(reach, 200)}, and could write orders to itself in ${quote(folder, 200)}; set XDG_STATE_HOME to a directory elsewhere`,
      )
    sweep(folder)
    this.#tail = new Tail(this.path, undefined, this.#make())
  }

  open(): void {
    const look = () => this.#obey(this.#next())
    const watcher = watchPath(this.path, look)
    const timer = setInterval(look, POLL_MS)
    this.#unwatch = () => {
      watcher?.close()
      clearInterval(timer)
    }
    look()
  }

  /** No more orders: the file is removed, and those that came too late are told so. */
  close(): void {
    this.#unwatch()
    if (this.#closed) return
    orElse(() => fs.rmSync(this.path, { force: true }), undefined)
    for (let last = this.#next(); last.length > 0; last = this.#next()) this.#obey(last)
    this.#closed = true
    this.#tail.close()
  }

  /** This program ends: nobody can be told any more. */
  abandon(): void {
    this.#closed = true
    orElse(() => fs.rmSync(this.path, { force: true }), undefined)
  }

  #make(): number {
    const { O_RDWR, O_CREAT, O_EXCL } = fs.constants
    try {
      const fd = openPlain(this.path, O_RDWR | O_CREAT | O_EXCL, 0o600)
      fs.writeSync(fd, `${this.#head}\n`)
      return fd
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw diskFault('make', this.path, error)
      const what = 'another run with this id takes orders there, or something else has that name'
      throw new Fault('JOURNAL_LOCKED', `${what}: ${quote(this.path, 200)}; use another runId, or remove it`)
    }
  }

  #obey(orders: readonly (Order | NoOrder)[]): void {
    const { act, tell } = this.#desk
    for (const order of orders) {
      const { id } = order
      if (!('do' in order)) {
        tell('control', { id, do: 'unknown', by: 'unknown', result: 'refused', why: order.why })
        continue
      }
      const head = { id, do: order.do, by: order.by }
      if (!tell('taken', { ...head, result: 'unknown' })) return
      let why: string | undefined
      try {
        why = act(order)
      } catch (error) {
        why = clip((error as Error).message, MAX_WHY) // cast: only errors are thrown here
      }
      tell('control', { ...head, ...(why === undefined ? { result: 'done' } : { result: 'refused', why }) })
    }
  }

  /** What was ordered since the last time, each id once, and lines that are not orders. */
  #next(): readonly (Order | NoOrder)[] {
    const found: (Order | NoOrder)[] = []
    // A file that grows faster than it is read must not hold the run back for ever.
    for (let blocks = 0; blocks < 64 && !this.#closed; blocks++) {
      const piece = this.#from > MAX_READ ? undefined : this.#tail.read()
      if (!piece) break
      if (piece.restarted) {
        this.#rest = []
        this.#size = 0
      }
      if (this.#size === 0) this.#from = piece.from
      let from = 0
      for (let end = piece.bytes.indexOf(LF); end >= 0; end = piece.bytes.indexOf(LF, from)) {
        this.#hold(piece.bytes.subarray(from, end))
        found.push(...this.#line())
        from = end + 1
        this.#from = piece.from + from
      }
      this.#hold(piece.bytes.subarray(from))
    }
    return found
  }

  /** Keeps a piece of a line, as far as it may be an order. */
  #hold(bytes: Buffer): void {
    this.#size += bytes.length
    if (this.#size > MAX_ORDER) this.#rest = []
    else if (bytes.length > 0) this.#rest.push(bytes)
  }

  #line(): (Order | NoOrder)[] {
    const isLong = this.#size > MAX_ORDER
    const text = Buffer.concat(this.#rest).toString()
    this.#rest = []
    this.#size = 0
    if ((text.trim() === '' && !isLong) || text === this.#head) return []
    const id = `line-${this.#from}`
    if (isLong) return [{ id, why: 'the line is longer than an order may be (64 KiB)' }]
    try {
      const order = orderIn(text)
      if (this.#seen.has(order.id)) return []
      this.#seen.add(order.id)
      return [order]
    } catch (error) {
      return [{ id, why: (error as Error).message }]
    }
  }
}

/** Refuses a folder in which somebody else could write. */
function checkFolder(folder: string): void {
  const own = process.getuid?.()
  for (const [path, others] of [
    [dirname(folder), 0o022],
    [folder, 0o077],
  ] as const) {
    const stats = fs.lstatSync(path)
    const why = !stats.isDirectory()
      ? 'is not a directory'
      : own !== undefined && stats.uid !== own
        ? 'belongs to another user'
        : own !== undefined && (stats.mode & others) !== 0
          ? 'is open to other users (chmod 700)'
          : undefined
    if (why !== undefined) throw refused(`${quote(path, 200)} ${why}, so no orders are taken from there`)
  }
}

/** Whose orders are in an open file; undefined if its first line does not say it. */
function headIn(fd: number) {
  const text = readBlock(fd, 0, MAX_HEAD).toString()
  const value = text.includes('\n') ? jsonValue(text.slice(0, text.indexOf('\n'))) : undefined
  if (!isRecord(value)) return undefined
  const { run, attempt, dir, pid, started, host } = value
  if (!isText(run) || typeof attempt !== 'number' || !isText(dir) || typeof pid !== 'number') return undefined
  return { runId: run, attempt, dir, pid, started: isText(started) ? started : null, host: String(host) }
}

type Head = NonNullable<ReturnType<typeof headIn>>

const isDead = ({ host, pid, started }: Head) => host === hostname() && !isSameProcess(pid, started)

/** Removes the files of runs whose recorder was killed. */
function sweep(folder: string): void {
  for (const name of fs.readdirSync(folder).slice(0, MAX_SWEPT)) {
    const path = join(folder, name)
    orElse(() => {
      const head = withPlain(path, undefined, headIn)
      if (head && isDead(head)) fs.rmSync(path, { force: true })
    }, undefined)
  }
}

/** Opens the orders of a run that takes them. Throws ORDER_REFUSED, and says why, if it takes none. */
function openOrders(run: OrderedRun, flags: number): number {
  const path = ordersPath(run)
  let fd: number
  try {
    checkFolder(dirname(path))
    fd = openPlain(path, flags)
  } catch (error) {
    if (Fault.is(error)) throw error
    if (codeOf(error) === 'ENOENT')
      throw refused('this run takes no orders here: it has ended, or was started without control', error)
    throw refused(`the orders of this run cannot be used: ${diskFault('open', path, error).message}`, error)
  }
  try {
    const { uid, nlink, size } = fs.fstatSync(fd)
    const own = process.getuid?.() ?? uid
    const head = headIn(fd)
    if (uid !== own || nlink > 1)
      throw refused('the orders of this run belong to another user, or have another name')
    // An agent may write the id of another run into its own records, to get what is meant for that one.
    if (head?.runId !== run.runId || head.attempt !== run.attempt || head.dir !== run.dir)
      throw refused('these orders are of another run: what this one recorded about itself is not true')
    if (isDead(head)) throw refused('this run has ended: its recorder was lost')
    if (size > MAX_FILE) throw refused('this run has had too many orders; stop it by its pid: sluice stop')
    return fd
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** Whether a run takes orders now. */
export function takesOrders(run: OrderedRun): boolean {
  return orElse(() => {
    fs.closeSync(openOrders(run, fs.constants.O_RDONLY))
    return true
  }, false)
}

/**
 * Hands an order to a run: when this returns true, the run will do it or tell why not, unless it is killed
 * before. False if an order with this id was given before. Throws ORDER_REFUSED if the run takes none.
 */
export function giveOrder(run: OrderedRun, order: Order): boolean {
  const line = Buffer.from(`${JSON.stringify(order)}\n`)
  if (line.length > MAX_ORDER) throw refused('an order may have 64 KiB')
  const { O_RDWR, O_APPEND } = fs.constants
  const fd = openOrders(run, O_RDWR | O_APPEND)
  try {
    const { size } = fs.fstatSync(fd)
    const before = readBlock(fd, 0, size)
    if (before.includes(`\n{"id":"${order.id}"`)) return false
    // The last line may be torn: its writer was killed.
    const bytes = before.at(-1) === LF ? line : Buffer.concat([Buffer.of(LF), line])
    if (fs.writeSync(fd, bytes) < bytes.length)
      throw refused('the order could not be written: the disk is full')
    // The run removes the file before it reads it for the last time.
    if (fs.fstatSync(fd).nlink === 0) throw refused('this run has ended')
    return true
  } catch (error) {
    throw Fault.is(error) ? error : refused('the order could not be written', error)
  } finally {
    fs.closeSync(fd)
  }
}
