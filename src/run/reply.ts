import { join } from 'node:path'
import { Fault, orElse, quote } from '../base/fault.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { eachLine } from '../disk/read-journal.ts'
import { engineNamed } from '../engines/engine-name.ts'
import { resumeOf, wireOf } from '../engines/programs.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { AgentEvent } from '../events/event.ts'
import { listAttempts } from './attempt-logs.ts'
import { type Meta, readMeta } from './meta.ts'
import { lives, stillRunning } from './resume.ts'

/** A turn that has ended, as far as the next one in its session must know it. */
export interface EndedTurn {
  readonly argv: readonly string[]
  /** Undefined if no engine was recognised. */
  readonly engine: Engine | undefined
  readonly session: string | null
  /** Its prompt was on stdin. */
  readonly piped: boolean
  /** It was a record of the wire there, and the next one is. */
  readonly talk: boolean
}

/** Ids that no program takes for an option or a path. They come from what the agent wrote. */
const ID = /^[A-Za-z0-9][\w.-]{0,127}$/
/** Words with which a CLI itself picks a session: it would be another one. */
const CHOICE = /^(?:latest|last|newest|recent|new|\d+)$/i

/** The command that continues a turn, or why it cannot be continued. */
export function nextCommand(turn: EndedTurn, text: string): readonly string[] {
  const { argv, engine, session, piped } = turn
  if (text.trim() === '') throw cannot('the reply is empty')
  if (!engine || engine.name === 'text')
    throw cannot(
      'no engine was recognised in its output; have the CLI print records, or name an engine of your own with engine',
    )
  // The session is named on the wire.
  const wire = wireOf(engine)
  const loads = turn.talk && wire?.loads === true
  const resume = resumeOf(engine)
  if (!loads && !resume)
    throw cannot(`${engine.name} has no command that continues a session${wire ? '; talk with it' : ''}`)
  if (session === null) throw cannot('its agent told no session id')
  if (!ID.test(session) || CHOICE.test(session))
    throw cannot(`its session id is ${quote(session, 100)}, which no agent gives`)
  const next = loads ? argv : resume?.({ argv, session, piped })
  if (!next)
    throw cannot(
      `its command line keeps no session, or has an option that is not known: ${quote(argv.join(' '), 300)}`,
    )
  return next
}

export function cannot(why: string, cause?: unknown): Fault {
  return new Fault('CANNOT_REPLY', `the run cannot be continued: ${why}`, { cause })
}

/** Whether a run that has ended can be continued, as far as the meta of its last attempt tells. */
export function canReply({
  argv,
  engine,
  session,
  reading,
  prompt,
  redacted,
  complete,
}: Partial<Meta>): boolean {
  if (!argv || argv.length === 0 || complete === false) return false
  if (redacted && argv.some((argument) => argument.includes('[redacted:'))) return false
  const turn = { argv, engine: engineNamed(engine), session: session ?? reading?.session ?? null }
  return orElse(
    () => nextCommand({ ...turn, piped: prompt !== undefined, talk: prompt === 'wire' }, 'more').length > 0,
    false,
  )
}

/** What a directory tells about its last attempt. */
export interface RecordedTurn extends EndedTurn {
  readonly cwd: string | undefined
  readonly reading: NonNullable<Meta['reading']>
  /** Its secrets were hidden: so are those of the next. */
  readonly redact: boolean
  /** It took orders: so does the next. */
  readonly control: boolean
}

/** Reads the last attempt of a directory. `own` is an engine that is not one of ours. */
export function recordedTurn(dir: string, own?: Engine | Picker): RecordedTurn {
  const last = listAttempts(dir).at(-1)
  const meta = readMeta(last?.meta)
  if (!last || !meta) throw cannot(`${quote(dir, 200)} has no run that was recorded`)
  const { argv, cwd, reading = {} } = meta
  if (meta.ended_at === undefined && lives(last, meta))
    throw cannot(`its last turn has not ended: ${stillRunning(meta)}`)
  if (!argv || argv.length === 0) throw cannot('its command is not recorded')
  if (meta.redacted && argv.some((argument) => argument.includes('[redacted:')))
    throw cannot('a secret of its command line was hidden; start it with the session yourself')
  const told = lastTold(dir, last.number)
  // `auto` may have recognised the engine, though no session was told.
  const name = told?.source.engine ?? meta.engine
  // An attempt that was cut short may only know which one it continued.
  const session = told?.correlation.session_id ?? reading.session
  if (session === undefined && meta.complete === false)
    throw cannot(
      `its recorder was lost before it was read; complete it: npx agent-sluice replay --resume ${quote(dir, 200)}`,
    )
  const engine = own && 'open' in own ? own : engineNamed(name)
  if (!engine && name !== undefined && name !== 'auto')
    throw cannot(
      `it was recorded with the engine ${quote(name, 100)}, which is not one of ours: give it again`,
    )
  return {
    argv,
    cwd,
    reading,
    engine,
    session: session ?? null,
    piped: meta.prompt !== undefined,
    talk: meta.prompt === 'wire',
    redact: meta.redacted === true,
    control: meta.control === true,
  }
}

/** The last event of an attempt that has a session, else its last one. */
function lastTold(dir: string, attempt: number): AgentEvent | undefined {
  let found: Buffer | undefined
  let last: Buffer | undefined
  const own = `"attempt_number":${attempt},`
  try {
    eachLine(join(dir, EVENTS_FILE), (line) => {
      if (!line.includes(own)) return
      if (line.includes('"correlation":{"session_id":')) found = Buffer.from(line)
      else if (!found) last = Buffer.from(line)
    })
  } catch (error) {
    throw cannot(`the events in ${quote(dir, 200)} cannot be read`, error)
  }
  found ??= last
  return found && (JSON.parse(found.toString('utf8')) as AgentEvent) // cast: a line of our journal
}
