import type { AgentEvent, EventData, EventType } from '../../src/events/event.ts'

/** Events of a run for tests, numbered in order; each is a type and its data. */
export function makeRun(
  steps: readonly { [T in EventType]: readonly [T, Partial<EventData[T]>] }[EventType][],
  { attempt = 1, session }: { attempt?: number; session?: string } = {},
): AgentEvent[] {
  return steps.map(([type, data], index) => {
    const record = {
      protocol_version: 'rasp/1.0',
      type,
      run_id: 'r1',
      seq: index + 1,
      ts: new Date(Date.UTC(2026, 0, 2, 3, 4, 5, index)).toISOString(),
      source: { engine: 'codex', parser: 'codex_ndjson', confidence: 0.95 },
      event: { category: type.split('.')[0], type },
      data,
      correlation: { event_id: `r1-${attempt}-${index}`, ...(session && { session_id: session }) },
      attempt_number: attempt,
      raw_ref: null,
    }
    // The cast joins type and data, which the parameter has checked.
    return record as unknown as AgentEvent
  })
}

const evidence = {
  done_marker: false,
  end_signal: null,
  failure: null,
  exit_code: 0,
  signal: null,
  truncated: false,
}

/** The end of a run, as the last step of it. */
export const ends = {
  well: ['lifecycle.completion.state', { state: 'completed', reason_code: 'DONE_MARKER', evidence }],
  badly: [
    'lifecycle.completion.state',
    { state: 'interrupted', reason_code: 'EXIT_CODE', evidence: { ...evidence, exit_code: 2 } },
  ],
  stopped: [
    'lifecycle.completion.state',
    {
      state: 'interrupted',
      reason_code: 'SIGNAL',
      evidence: { ...evidence, exit_code: null, signal: 'SIGINT', stopped: 'interrupted' },
    },
  ],
  unknown: ['lifecycle.completion.state', { state: 'unknown', reason_code: 'NO_END_SIGNAL', evidence }],
} as const
