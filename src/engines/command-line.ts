import type { LastTurn } from '../events/engine.ts'
import type { Wire } from '../events/talk-wire.ts'

/** An agent as a command. Lists are words; `--name=a|b` is an option with one of these values. */
export interface Program {
  /** Its name, and that of its package; none for what many programs speak. */
  readonly names?: string
  /** One of these makes it work without a person. The first is the one to add. */
  readonly headless?: string
  /** One of these makes it print records. Without any, its text says neither session nor end. */
  readonly records?: string
  /** What to add for that. */
  readonly add?: string
  /** What it never reports: `tokens`, `cost`, `toolCalls`. */
  readonly blind?: string
  /** How its command line is read and continued; without it, its sessions cannot be continued. */
  readonly command?: CommandLine
  /** How to speak with it while it works. */
  readonly wire?: Wire
  /** The command that takes answers while it works. */
  readonly talks?: string
}

/**
 * The command line of an agent, as far as its next turn must know it: all options are repeated there, but the
 * task is another, and the session is named. Lists of options are names, separated by blanks.
 */
export interface CommandLine {
  /** The word that its options follow: `exec`, `run`. */
  readonly verb?: string
  /** Options without a value. */
  readonly flags: string
  /** Options with one value. */
  readonly values: string
  /** Options that take every word up to the next option. */
  readonly lists?: string
  /** Options whose value is the task. Any other word is a part of it, too. */
  readonly task?: string
  /** Options that choose a session, with or without a value: the next turn has its own. */
  readonly session: string
  /** Options with which it keeps no session, or is not headless: it cannot be continued. */
  readonly alone?: string
  /** Words before the task that are not part of it: `resume ID`. */
  words?(words: readonly string[]): readonly string[]
  /** What continues the session. The prompt goes to stdin. */
  next(options: readonly string[], session: string): readonly string[]
}

/** The task that a command line gives. */
export function taskIn(argv: readonly string[], line: CommandLine): string | undefined {
  return readLine(argv, line)?.task
}

/** The command line that continues a turn. */
export function nextTurn(
  { argv, session, piped }: LastTurn,
  line: CommandLine,
): readonly string[] | undefined {
  const read = readLine(argv, line, piped)
  return read && !read.alone ? [...read.head, ...line.next(read.options, session)] : undefined
}

/**
 * Undefined if it cannot be told what is an option and what is the task: a word after an unknown option may
 * be its value or the task, unless the task came by a pipe (`piped`).
 */
function readLine(argv: readonly string[], line: CommandLine, piped = false) {
  const kinds = kindsOf(line)
  let at = programEnd(argv)
  if (line.verb !== undefined) {
    const verbs = line.verb.split(' ')
    while (at < argv.length && !verbs.includes(argv[at]!)) at++
    if (at++ === argv.length) return undefined
  }
  /** The program, with what starts it, and the verb. */
  const head = argv.slice(0, at)
  /** Without those that choose a session, or give the task. */
  const options: string[] = []
  const words: string[] = []
  let said: string | undefined
  let alone = false
  while (at < argv.length) {
    const word = argv[at++]!
    if (word === '--') {
      words.push(...argv.slice(at))
      break
    }
    if (!word.startsWith('-') || word === '-') {
      words.push(word)
      continue
    }
    const [name, inline] = nameAndValue(word)
    const kind = kinds.get(name)
    const isWord = () => at < argv.length && !argv[at]!.startsWith('-')
    if (kind === 'alone') alone = true
    else if (kind === 'task') said = inline ?? argv[at++]
    else if (kind === 'session') {
      if (inline === undefined && isWord()) at++
    } else {
      options.push(word)
      if (inline !== undefined || kind === 'flags') continue
      if (kind === undefined && isWord() && !piped) return undefined
      if (kind === 'values' ? at < argv.length : isWord()) options.push(argv[at++]!)
      while (kind === 'lists' && isWord()) options.push(argv[at++]!)
    }
  }
  const rest = (line.words?.(words) ?? words).filter((word) => word !== '-')
  return { head, options, task: said ?? (rest.length > 0 ? rest.join(' ') : undefined), alone }
}

const KINDS = ['flags', 'values', 'lists', 'task', 'session', 'alone'] as const

function kindsOf(line: CommandLine): ReadonlyMap<string, (typeof KINDS)[number]> {
  const kinds = new Map<string, (typeof KINDS)[number]>()
  for (const kind of KINDS) for (const name of line[kind]?.split(' ') ?? []) kinds.set(name, kind)
  return kinds
}

function nameAndValue(word: string): [name: string, value: string | undefined] {
  const equals = word.indexOf('=')
  return equals < 0 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)]
}

/**
 * The name of the program in a command line, without its path, and of a package without its version.
 *
 * @example
 * programOf(['npx', '-y', '@openai/codex@0.169.0', 'exec']) // '@openai/codex'
 */
export function programOf(argv: readonly string[]): string {
  const word = argv[programEnd(argv) - 1] ?? ''
  if (word.startsWith('@')) return word.split('@', 2).join('@')
  const [name = ''] = word.split(/[\\/]/).at(-1)!.split('@')
  return name.replace(/\.(?:exe|cmd)$/, '')
}

/** Whether the words after the program have this one; `--name=a|b` is an option with one of these values. */
export function isProgramOption(argv: readonly string[], wanted: string): boolean {
  const [name, values] = nameAndValue(wanted)
  return argv.some((word, at) => {
    if (at < programEnd(argv)) return false
    const [given, inline] = nameAndValue(word)
    if (given !== name) return false
    return values === undefined || values.split('|').includes(inline ?? argv[at + 1] ?? '')
  })
}

const LAUNCHERS = /^(?:node|npx|npm|pnpm|yarn|bun|bunx|deno|env)(?:\.exe|\.cmd)?$/

/** Where the words of the program itself begin: `npx -y @openai/codex exec` starts it by another one. */
function programEnd(argv: readonly string[]): number {
  let at = 1
  while (at < argv.length && LAUNCHERS.test(argv[at - 1]!.split(/[\\/]/).at(-1)!)) {
    while (at < argv.length && /^-|^(?:exec|dlx|x|run)$/.test(argv[at]!)) at++
    at++
  }
  return Math.min(at, argv.length)
}
