import type { EndState, Evidence } from '../../src/events/event.ts'
import type { RunOutcome } from '../../src/events/run-outcome.ts'
import { codexLines } from '../run/agent.ts'

/** Evidence of an end, what it is called, and the exit code of every command for it. */
export interface Row {
  readonly name: string
  readonly evidence: Evidence
  readonly state: EndState
  readonly outcome: RunOutcome
  readonly code: number
}

const nothing: Evidence = {
  done_marker: false,
  end_signal: null,
  failure: null,
  exit_code: 0,
  signal: null,
  truncated: false,
}
const done = { done_marker: true, end_signal: 'turn.completed' }
const turn = { end_signal: 'turn.completed' }
const stop = { signal: 'SIGTERM', exit_code: null }

function row(
  name: string,
  evidence: Partial<Evidence>,
  state: EndState,
  outcome: RunOutcome,
  code: number,
): Row {
  return { name, evidence: { ...nothing, ...evidence }, state, outcome, code }
}

export const rows: readonly Row[] = [
  row('done marker, exit 0', done, 'completed', 'succeeded', 0),
  row('done marker, exit 1', { ...done, exit_code: 1 }, 'completed', 'failed', 1),
  row('done marker, signal', { ...done, ...stop }, 'completed', 'failed', 1),
  row('done marker, stopped', { ...done, ...stop, stopped: 'aborted' }, 'completed', 'cancelled', 1),
  row('done marker, stopped, but left with 0', { ...done, stopped: 'aborted' }, 'completed', 'cancelled', 1),
  row('done marker, a cut record', { ...done, truncated: true }, 'completed', 'failed', 4),
  row('done marker, failure', { ...done, failure: 'no key' }, 'completed', 'failed', 1),
  row('end signal, exit 0', turn, 'awaiting_user_input', 'finished', 0),
  row('end signal, exit 1', { ...turn, exit_code: 1 }, 'awaiting_user_input', 'failed', 1),
  row('end signal, signal', { ...turn, ...stop }, 'awaiting_user_input', 'failed', 1),
  row('end signal, a cut record', { ...turn, truncated: true }, 'awaiting_user_input', 'failed', 4),
  row(
    'end signal, a cut record, exit 1',
    { ...turn, truncated: true, exit_code: 1 },
    'awaiting_user_input',
    'failed',
    1,
  ),
  row(
    'end signal, stopped',
    { ...turn, ...stop, stopped: 'interrupted' },
    'awaiting_user_input',
    'cancelled',
    1,
  ),
  row(
    'end signal, stopped, but left with 0',
    { ...turn, stopped: 'interrupted' },
    'awaiting_user_input',
    'cancelled',
    1,
  ),
  row('failure, exit 0', { failure: 'no key' }, 'interrupted', 'failed', 1),
  row('failure, exit 1', { failure: 'no key', exit_code: 1 }, 'interrupted', 'failed', 1),
  row('failure, a cut record', { failure: 'no key', truncated: true }, 'interrupted', 'failed', 1),
  row('a cut record, exit 0', { truncated: true }, 'interrupted', 'failed', 4),
  row('a cut record, exit 1', { truncated: true, exit_code: 1 }, 'interrupted', 'failed', 1),
  row(
    'a cut record, stopped',
    { truncated: true, ...stop, stopped: 'interrupted' },
    'interrupted',
    'cancelled',
    1,
  ),
  row('exit 3 alone', { exit_code: 3 }, 'interrupted', 'failed', 1),
  row('signal alone', stop, 'interrupted', 'failed', 1),
  row('stopped alone', { ...stop, stopped: 'abandoned' }, 'interrupted', 'cancelled', 1),
  row('stopped, but left with 0', { stopped: 'interrupted' }, 'unknown', 'cancelled', 1),
  row('exit 0 alone', {}, 'unknown', 'unknown', 4),
  row('nothing at all', { exit_code: null }, 'unknown', 'unknown', 4),
]

/** What a Codex that leaves this evidence writes to stdout. */
export function outputOf({ evidence }: Row): string {
  const records = [codexLines[0], codexLines[1]]
  if (evidence.done_marker) {
    const item = { id: 'item_1', type: 'agent_message', text: '{"__SKILL_DONE__": true}' }
    records.push(JSON.stringify({ type: 'item.completed', item }))
  }
  if (evidence.failure !== null)
    records.push(JSON.stringify({ type: 'turn.failed', error: { message: evidence.failure } }))
  if (evidence.end_signal !== null) records.push(codexLines[3])
  const whole = records.map((record) => `${record}\n`).join('')
  return evidence.truncated ? `${whole}{"type":"item.comp` : whole
}
