import { type Note, quote } from '../base/fault.ts'
import { durationWords } from '../views/words.ts'
import type { StopReason } from './meta.ts'

/** Why we ended a process, in a sentence, where the reason alone says it. */
export const stopNotes: Partial<Record<StopReason, Note>> = {
  end_signal: {
    code: 'RUN_LINGERED',
    message: 'the agent reported its end but did not exit, so its process was ended',
  },
  interrupted: { code: 'RUN_INTERRUPTED', message: 'the user interrupted the process' },
  aborted: { code: 'RUN_INTERRUPTED', message: 'the caller aborted the process' },
  abandoned: { code: 'RUN_INTERRUPTED', message: 'the reader of the run left, so the process was ended' },
  host_ended: { code: 'RUN_INTERRUPTED', message: 'the program that ran it ended, and the process with it' },
}

export const heldNote: Note = {
  code: 'PIPE_HELD_OPEN',
  message: 'the process ended, but a process it started still holds its pipe open',
}

export function timeoutNote(limit = 0): Note {
  return { code: 'RUN_TIMEOUT', message: `it ran longer than ${limitWords(limit)}, so it was ended` }
}

export function idleNote(limit = 0): Note {
  return { code: 'RUN_IDLE', message: `it printed nothing for ${limitWords(limit)}, so it was ended` }
}

/** A limit is mostly a round number: `4 s`, `10 min`. */
function limitWords(ms: number): string {
  return durationWords(ms).replace(/\.0(?= s$)| 0 (?:s|min)$/, '')
}

/** Those that had lost their parent, and have a session of their own, cannot be found by the process. */
export function leftNote(pids: readonly number[]): Note {
  const [one, ...more] = pids
  const which =
    more.length === 0 ? `process ${one}` : `${pids.length} processes (${pids.slice(0, 10).join(', ')})`
  const message = `${which} that the agent had started ${more.length === 0 ? 'is' : 'are'} still running`
  return { code: 'LEFT_RUNNING', message }
}

export function lostNote(name: string): Note {
  return {
    code: 'RECORD_FAILED',
    message: `${quote(name)} was removed or replaced during the run; a replay cannot read it`,
  }
}

/** About an agent that prints text, where it could print records. */
export function textModeNote(program: string, add: string): Note {
  const message = `${program} ran in its text mode, which tells neither its session nor its end; add ${add}`
  return { code: 'TEXT_MODE', message }
}
