import { resolve } from 'node:path'
import { isObject, misfit } from '../base/check-options.ts'
import type { WorkOrder } from './order.ts'

/**
 * The order as a prompt for an agent: the task, the constraints, and the one file to write.
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
