import { isFunction, isName, isObject, isPromise, misfit } from '../base/check-options.ts'
import { badOption, clip, quote } from '../base/fault.ts'
import { brief, type WorkOrder } from './order.ts'

/**
 * How a type of worker gets its order, and where its result is. Every worker also gets
 * `WORK_ISSUE_REF`, `WORK_RUN_ID`, `WORK_REPO_DIR`, `WORK_TASK` and `WORK_CONSTRAINTS` in its environment.
 *
 * @example
 * const goCli: WorkerAdapter = {
 *   type: 'go-cli',
 *   args: (order) => ['--issue', order.issue_ref, '--run', order.run_id],
 *   text: 'out/result.txt',
 * }
 */
export interface WorkerAdapter {
  readonly type: string
  /** The command to start if the caller names none. */
  readonly command?: readonly string[]
  /**
   * Write the order to a file; its path is in `WORK_ORDER` and is passed to `args` and `env`.
   * @default false
   */
  readonly orderFile?: boolean
  /** Arguments after those of the command. */
  readonly args?: (order: WorkOrder, orderFile: string) => readonly string[]
  /** Additional environment variables. */
  readonly env?: (order: WorkOrder, orderFile: string) => Readonly<Record<string, string>>
  /**
   * The file in which the worker leaves its result as JSON, relative to `repo_dir`; `false` if it never does.
   * @default 'work_result.json'
   */
  readonly json?: string | false
  /**
   * The file in which it leaves its result as `Key: value` lines, relative to `repo_dir`; `false` if never.
   * @default 'work_result.txt'
   */
  readonly text?: string | false
  /** The engine that reads its output as a conversation, if it has one. */
  readonly engine?: string
  /**
   * Let a complete result in the last message of the conversation advance, if there is no file.
   * @default false
   */
  readonly trustConversation?: boolean
}

/**
 * The included adapters. `json-cli` reads the order from a file and writes `work_result.json`,
 * `text-cli` reads the environment and writes `work_result.txt`, `script` is any command, and the others
 * are agents that get the order as their prompt.
 *
 * @example
 * adapters.map((adapter) => adapter.type) // ['json-cli', 'text-cli', 'script', 'codex', …]
 */
export const adapters: readonly WorkerAdapter[] = [
  { type: 'json-cli', orderFile: true, text: false },
  { type: 'text-cli', json: false },
  { type: 'script', orderFile: true },
  agent('codex', ['codex', 'exec', '--json']),
  agent('opencode', ['opencode', 'run', '--format', 'json']),
  agent('gemini', ['gemini', '-o', 'stream-json', '-p']),
  agent('claude', ['claude', '--output-format', 'stream-json', '--verbose', '-p']),
]

/**
 * Finds the adapter of a worker type; your own adapters come first, so they can replace included ones.
 *
 * @example
 * findAdapter('codex')
 */
export function findAdapter(type: string, own: readonly WorkerAdapter[] = []): WorkerAdapter {
  if (typeof type !== 'string' || !Array.isArray(own))
    throw misfit(
      'findAdapter',
      'the name of a worker type, then adapters',
      type,
      'findAdapter("codex", [mine])',
    )
  const found = [...own, ...adapters].find((adapter) => adapter.type === type)
  if (found) return found
  const known = [...new Set([...own, ...adapters].map((adapter) => adapter.type))].join(', ')
  throw badOption(
    `there is no worker type ${quote(type)}; the known types are ${known}; give a module by its path`,
  )
}

/** Checks an adapter of a user's file or an untyped caller; a `BAD_OPTION` says what is wrong. */
export function checkAdapter(value: unknown): WorkerAdapter {
  const wrong = typeof value !== 'object' || value === null ? 'it is not an object' : wrongField(value)
  if (wrong !== undefined) throw badOption(`the adapter cannot be used: ${wrong}`)
  return value as WorkerAdapter // cast: every field was checked
}

function wrongField(value: object): string | undefined {
  // cast: an instance of a class is fine, too, so own keys are not required
  const given = value as Record<string, unknown>
  const rules: Record<string, [must: string, holds: (found: unknown) => boolean]> = {
    type: ['a name', isName],
    command: ['a list of strings', (found) => Array.isArray(found) && found.every(isName)],
    orderFile: ['true or false', (found) => typeof found === 'boolean'],
    args: ['a function', isFunction],
    env: ['a function', isFunction],
    json: ['a path or false', (found) => found === false || isName(found)],
    text: ['a path or false', (found) => found === false || isName(found)],
    engine: ['the name of an engine', isName],
    trustConversation: ['true or false', (found) => typeof found === 'boolean'],
  }
  if (given['type'] === undefined) return 'it has no type'
  for (const [key, [must, holds]] of Object.entries(rules)) {
    if (given[key] !== undefined && !holds(given[key])) return `${key} must be ${must}`
  }
  return undefined
}

/** The arguments that an adapter adds for an order. */
export function argsOf(adapter: WorkerAdapter, order: WorkOrder, orderFile: string): readonly string[] {
  if (!adapter.args) return []
  return returned(adapter, 'args', 'a list of strings', () => adapter.args?.(order, orderFile), Array.isArray)
}

/** The variables that an adapter adds for an order. */
export function envOf(
  adapter: WorkerAdapter,
  order: WorkOrder,
  orderFile: string,
): Readonly<Record<string, string>> {
  if (!adapter.env) return {}
  return returned(adapter, 'env', 'an object of strings', () => adapter.env?.(order, orderFile), isObject)
}

/** Checks what the caller's function returned: a worker with half its arguments must not start. */
function returned<T extends object>(
  { type }: WorkerAdapter,
  field: string,
  must: string,
  ask: () => T | undefined,
  isContainer: (found: unknown) => boolean,
): T {
  const of = `${field} of the adapter ${quote(type)}`
  const wrong = (what: string) => badOption(`${of} must return ${must} without NUL, but returned ${what}`)
  let found: T | undefined
  try {
    found = ask()
  } catch (cause) {
    const why = cause instanceof Error ? quote(cause.message, 200) : inWords(cause)
    throw badOption(`${of} threw: ${why}`, { cause })
  }
  if (isPromise(found)) {
    found.then(undefined, () => {}) // it is refused already, so its rejection does not matter
    throw wrong('a promise')
  }
  if (found === undefined || !isContainer(found)) throw wrong(inWords(found))
  for (const each of Object.values(found)) {
    if (typeof each !== 'string' || each.includes('\0')) throw wrong(`one with ${inWords(each)}`)
  }
  return found
}

function inWords(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return 'a list'
  return isObject(value) ? 'an object' : clip(String(value), 40)
}

function agent(type: string, command: readonly string[]): WorkerAdapter {
  return { type, command, engine: type, args: (order) => [brief(order)] }
}
