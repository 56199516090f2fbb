import { resolve } from 'node:path'
import { defined, isLine, isObject, misfit } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'

/**
 * The task of a worker, for `work()`.
 *
 * @example
 * const order: WorkOrder = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: '/repos/shop', task: 'Fix it' }
 */
export interface WorkOrder {
  /** The name of the issue in your tracker, to which the result is written back. */
  readonly issue_ref: string
  /** Your id of this run: a retry has the same. A result that names another one is never written back. */
  readonly run_id: string
  /** The working directory of the worker, where its result files are. */
  readonly repo_dir: string
  /** What to do, in words. */
  readonly task?: string
  /** Constraints for the worker: any JSON. */
  readonly constraints?: unknown
}

/** An order is passed in arguments and the environment; Linux allows 128 KiB for one string. */
const MAX_ORDER = 64 * 1024
const MAX_NAME = 200

/**
 * Reads an order from untrusted JSON. Keys may be snake_case or PascalCase; unknown keys are left out.
 * Throws a `BAD_ORDER` Fault that says what is wrong.
 *
 * @example
 * const order = readOrder(JSON.parse(readFileSync('order.json', 'utf8')))
 */
export function readOrder(value: unknown): WorkOrder {
  if (!isObject(value))
    throw new Fault('BAD_ORDER', 'the order must be a JSON object with issue_ref, run_id and repo_dir')
  const given = new Map(Object.entries(value))
  const pick = (snake: string, pascal: string): unknown => {
    if (given.has(snake) && given.has(pascal))
      throw new Fault('BAD_ORDER', `the order has both ${snake} and ${pascal}; keep one`)
    return given.get(snake) ?? given.get(pascal)
  }
  const task = pick('task', 'Task')
  const constraints = pick('constraints', 'Constraints')
  const order: WorkOrder = {
    issue_ref: name('issue_ref', pick('issue_ref', 'IssueRef')),
    run_id: name('run_id', pick('run_id', 'RunId')),
    repo_dir: text('repo_dir', pick('repo_dir', 'RepoDir')),
    ...defined({ task: task === undefined ? undefined : text('task', task), constraints }),
  }
  const size = Buffer.byteLength(JSON.stringify(order))
  if (size > MAX_ORDER) throw new Fault('BAD_ORDER', `the order has ${size} bytes; at most ${MAX_ORDER} fit`)
  return order
}

/** Names appear in file headers and comments, so they are one short line without control characters. */
function name(key: string, value: unknown): string {
  const found = text(key, value)
  if (found.length > MAX_NAME || found !== found.trim() || !isLine(found))
    throw new Fault(
      'BAD_ORDER',
      `${key} must be one line of at most ${MAX_NAME} characters without blanks around it, but is ${quote(found)}`,
    )
  return found
}

function text(key: string, value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '' || value.includes('\0'))
    throw new Fault('BAD_ORDER', `the order needs ${key}: a string that is not blank and has no NUL`)
  return value
}

/**
 * The order as a prompt for an agent: the task, the constraints, and that it has to write `work_result.json`.
 *
 * @example
 * spawn('codex', ['exec', '--json', brief(order)])
 */
export function brief(order: WorkOrder): string {
  if (!isObject(order) || typeof order.repo_dir !== 'string')
    throw misfit('brief', 'a work order', order, 'brief(readOrder(json))')
  const parts = [
    `Work on ${order.issue_ref} in the current directory.`,
    order.task ?? '',
    order.constraints === undefined ? '' : `Keep to these constraints: ${JSON.stringify(order.constraints)}`,
    `When you are done, or cannot go on, write the file work_result.json in the directory ${resolve(order.repo_dir)}:`,
    JSON.stringify({
      issue_ref: order.issue_ref,
      run_id: order.run_id,
      status: 'ok | fail | blocked',
      changes: { pr: 'address of the pull request, or none', commit: 'id of the commit, or none' },
      tests: 'what you tested and how it went, or n/a',
      summary: 'what you did',
      blocked_by: 'only if blocked: by what',
      questions: ['only if you have any'],
    }),
    'The file is JSON, issue_ref and run_id are exactly as above, and pr or commit is given.',
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}
