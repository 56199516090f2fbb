import type { Note } from '../base/fault.ts'
import { drive } from '../base/stage.ts'
import type { Chunk } from '../text/chunk.ts'
import { valueStage } from '../values/values.ts'
import { fieldsOf } from './result.ts'

/**
 * Looks for a JSON result in the output of a worker: one document, a tag block, a fence or an object in the
 * log. Logs contain objects of any kind, so one counts only if it names the issue or the run; of several, the
 * one with the most anchors (issue, run, status), and of equal ones the last. Nothing found here is enough to
 * advance.
 *
 * @example
 * jsonAnchors('done: {"run_id":"run-7","status":"ok"}').fields.get('run_id') // 'run-7'
 */
export function jsonAnchors(output: string): { fields: Map<string, unknown>; reasons: Note[] } {
  let found: { fields: Map<string, unknown>; reasons: Note[] } = { fields: new Map(), reasons: [] }
  if (!output.includes('{')) return found
  const chunk: Chunk = { channel: 'stdout', bytes: Buffer.from(output) }
  let most = 0
  for (const outcome of drive(valueStage({}), [chunk])) {
    if (!outcome.ok) continue
    const { fields, reasons } = fieldsOf(outcome.value)
    const count = anchors.filter((field) => typeof fields.get(field) === 'string').length
    if (count < most || !(fields.has('run_id') || fields.has('issue_ref'))) continue
    most = count
    found = { fields, reasons }
  }
  return found
}

const anchors = ['issue_ref', 'run_id', 'status']
