import fs from 'node:fs'
import { readBlock, withPlain } from '../disk/plain-file.ts'
import { readCost } from '../events/cost.ts'
import { isRecord } from '../events/engine.ts'
import type { EndState } from '../events/event.ts'
import { isGood, type OutcomeEvidence, outcomeOf, readFailure } from '../events/run-outcome.ts'
import { tokensOf } from '../events/tokens.ts'
import { OverviewReader, type RunOverview } from './log-overviews.ts'

/** Bytes at the end of a journal, of a run that ended well and of any other. */
const SHORT_TAIL = 4 * 1024
const TAIL = 64 * 1024

/**
 * What the end of a journal tells, and the task at its start if it is `asked` for. Undefined if there is no
 * event, or the file is not really inside `root`.
 */
export function journalTail(path: string, root: string, asked: boolean): RunOverview | undefined {
  try {
    return withPlain(path, root, (fd) => {
      const { size } = fs.fstatSync(fd)
      const linesIn = (from: number, to: number) =>
        readBlock(fd, from, to - from)
          .toString()
          .split('\n')
      const last = (length: number) => linesIn(Math.max(0, size - length), size)
      let ended = lastEvents(last(SHORT_TAIL))
      let lines: readonly string[] | undefined
      if (!ended?.completion || !isGood(outcomeOf(ended.completion))) {
        lines = last(TAIL)
        if (!ended?.completion) ended = lastEvents(lines)
        ended &&= { ...ended, ...telling(ended, lines) }
      }
      if (!ended || !asked) return ended && { ...ended, task: undefined }
      const first = lines && size <= TAIL ? lines : linesIn(0, Math.min(size, TAIL))
      return { ...ended, task: telling(undefined, first).task }
    })
  } catch {
    return undefined
  }
}

/** What the events in these lines tell: of a run that ended badly or not yet, else its task alone. */
function telling(ended: RunOverview | undefined, lines: readonly string[]): Partial<RunOverview> {
  const reader = new OverviewReader()
  for (const line of lines) {
    // Pieces of a message, which may be thousands, say nothing that its end does not say.
    if (ended ? line.includes('"agent.message.delta"') : !line.includes('"user.message"')) continue
    try {
      const event = JSON.parse(line)
      if (!ended || event.attempt_number === ended.attempt) reader.take(event)
    } catch {
      // The first line of the block may be incomplete.
    }
  }
  const { task, problem, waits_for } = reader.overview() ?? {}
  return { task, problem, waits_for }
}

/** Another program may have written it: only strings count as text. */
function lastEvents(lines: readonly string[]): RunOverview | undefined {
  let overview: RunOverview | undefined
  // From the end: the last whole line has the run and attempt, the last completion of that attempt has the
  // outcome.
  for (let i = lines.length - 2; i >= 0; i--) {
    try {
      const event = JSON.parse(lines[i]!)
      const { run_id, ts, attempt_number: attempt } = event
      overview ??= { run_id: textOf(run_id), engine: textOf(event.source.engine), ts: textOf(ts), attempt }
      // The previous attempt ended; this one has no end.
      if (attempt !== overview.attempt) return overview
      // Journals of before 0.2 have no `type` at the top.
      if ((event.type ?? event.event?.type) === 'lifecycle.completion.state')
        return { ...overview, completion: completionIn(event.data) }
    } catch {
      // The first line of the block may be incomplete.
    }
    if (overview && lines.length - i > 16) break
  }
  return overview
}

function completionIn(data: Record<string, unknown>): RunOverview['completion'] {
  const state = endStates.find((known) => known === data['state']) ?? 'unknown'
  const { evidence, tokens } = data
  const { request, ...seen } = isRecord(evidence) ? evidence : {}
  const end = { state, evidence: { ...seen, ...(typeof request === 'string' && { request }) } }
  // Cast: `outcomeOf` checks each of them.
  const outcome = outcomeOf({ ...end, outcome: data['outcome'] } as OutcomeEvidence)
  return {
    ...(end as OutcomeEvidence),
    outcome,
    failure_class: readFailure(data['failure_class']),
    cost: readCost(data['cost']),
    tokens: isRecord(tokens) ? tokensOf(tokens) : undefined,
    reason_code: textOf(data['reason_code']),
  }
}

const endStates: readonly EndState[] = ['completed', 'awaiting_user_input', 'interrupted', 'unknown']

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
