import { costOf } from '../events/cost.ts'
import type { Engine, FailureTable, Say, ToolTable } from '../events/engine.ts'
import { durationOf, fits, Rec } from '../events/record.ts'
import type { Tokens } from '../events/tokens.ts'
import { unifiedDiff } from './calls.ts'
import type { CommandLine, Program } from './command-line.ts'
import { errorText, errorWords } from './error-text.ts'
import { type Rows, rows, table } from './record-table.ts'
import { type Turns, turns } from './session-turns.ts'
import { tokensAt } from './token-parts.ts'

interface Run {
  /** The run reported a failure; the engine may still retry. */
  failed: boolean
  /** A step has ended the turn; another one may still begin. */
  over: boolean
  /** The step has called a tool of OpenCode's own: whatever its reason is, another step gets the result. */
  called: boolean
  /** The session of the first line. Another one is a subagent's. */
  session?: string | undefined
  /** The message in the database that the parts belong to. `aborted` if it has an error. */
  stored?: { readonly aborted: boolean }
}

/** What a line is about. The parts in the database are the same, some with another name. */
const on: Rows<Run>['on'] = {
  'step_start, step-start': {
    fields: 'snapshot:text',
    read(_, say, run, line) {
      const parent = parentOf(line, run)
      if (parent === undefined && (run.failed || run.over)) say.turn('goes on')
      if (parent === undefined) run.failed = run.over = run.called = false
      say.status('step_start', { parent })
    },
  },
  text: {
    fields: 'text:text time:record synthetic:flag metadata:record',
    read(part, say, run, line) {
      const { stored } = run
      const words = part.text('text')
      if (words === undefined || (stored && part.at('synthetic') === true)) return
      const incomplete = stored?.aborted || undefined
      say.message(part.text('id'), words, { incomplete, parent: parentOf(line, run) })
    },
  },
  reasoning: {
    fields: 'text:text time:record metadata:record',
    read(part, say, run, line) {
      const words = part.text('text')
      if (words === undefined) return
      say.reasoning(part.text('id'), words, { parent: parentOf(line, run) })
    },
  },
  'tool_use, tool': {
    fields:
      'tool:text callID:text metadata:record state:record state.status=pending|running|completed|error ' +
      'state.input:record state.error:text state.metadata:record',
    read(part, say, run, line) {
      const parent = parentOf(line, run)
      run.called ||= parent === undefined && part.at('metadata.providerExecuted') !== true
      readTool(part, parent, say)
    },
  },
  'step_finish, step-finish': {
    fields: 'reason:text snapshot:text tokens:record cost:number metrics:record time:record',
    read(part, say, run, line) {
      const reason = part.text('reason') ?? 'unknown'
      const usage = part.at('tokens')
      const parent = parentOf(line, run)
      const cost = costOf(part.at('cost'))
      say.status('step_finish', { reason, usage, tokens: tokensIn(usage), cost, parent })
      if (parent !== undefined) return
      const over = reason === 'stop' && !run.called
      if (run.over && !over) say.turn('goes on')
      run.over = over
      if (run.over) say.ended('step_finish stop')
      if (reason === 'length' || reason === 'content-filter') say.turn('cut', reason)
      if (reason === 'error' && !run.failed) say.error('the step ended with an error', 'fatal')
      run.failed ||= reason === 'error'
    },
  },
  error(_, say, run, line) {
    const own = parentOf(line, run) === undefined
    run.failed ||= own
    const code = line.number('error.data.statusCode')
    const severity = own ? 'fatal' : 'warning'
    say.error(errorIn(line), severity, { retryable: line.flag('error.data.isRetryable'), code })
  },
}
const failures: FailureTable = [
  ['auth', /^ProviderAuth/],
  ['denied', /Permission(?:Rejected|Denied)Error/],
]
const tools: ToolTable = {
  read: 'read lsp',
  edit: 'edit write multiedit patch apply_patch',
  search: 'glob grep list websearch codesearch',
  execute: 'bash',
  think: 'task todowrite todoread',
  fetch: 'webfetch',
}

/** How the result of a call begins that was not allowed. */
export const opencodeDenial =
  /^(?:Error: )?The user (?:rejected permission to use|has specified a rule which prevents you from using) this/
const fields = 'id:text messageID:text sessionID:text type:text'

const COMMAND: CommandLine = {
  verb: 'run',
  flags:
    '--thinking --share --auto --print-logs --dangerously-skip-permissions --pure --mdns --interactive --yolo',
  values:
    '-m --model --agent --format --title --attach -p --password -u --username --dir --port --hostname --variant --command --log-level --mode',
  lists: '-f --file',
  session: '-s --session -c --continue --fork',
  next: (options, session) => [...options, '-s', session],
}

export const opencodeProgram: Program = {
  names: 'opencode opencode-ai',
  headless: 'run',
  records: '--format=json acp serve',
  add: '--format json',
  talks: 'opencode acp',
  command: COMMAND,
}

export const kiloProgram: Program = {
  names: 'kilo @kilocode/cli',
  headless: 'run',
  records: '--format=json acp serve',
  add: '--format json',
  talks: 'kilo acp',
  command: COMMAND,
}

/**
 * OpenCode (`opencode run --format json`). There is no line for the start or end of a session: the first id
 * starts it, `stop` ends it.
 */
export const opencode: Engine = /* @__PURE__ */ table<Run>({
  name: 'opencode',
  parser: 'opencode_ndjson',
  about: 'opencode run --format json; 1.18, 1.1',
  failures,
  tools,
  denials: opencodeDenial,
  shape: isLine,
  later: isLine,
  least: 'part|error:record',
  state: () => ({ failed: false, over: false, called: false }),
  each(line, say, run) {
    say.fields(line.values, 'type timestamp sessionID part:record error:record')
    run.session ??= line.text('sessionID')
    if (parentOf(line, run) === undefined) say.session(line.at('sessionID'))
  },
  of: 'part',
  fields,
  on,
})

/**
 * Kilo Code (`kilo run --format json`). The dialect is OpenCode's, and nothing in its first records is
 * specific to Kilo: `auto` reads a run of Kilo as `opencode`, with the same events.
 */
export const kilo: Engine = {
  name: 'kilo',
  parser: 'kilo_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'kilo run --format json; 7.7 (auto calls it opencode: the dialect is the same)',
  failures,
  tools,
  denials: opencodeDenial,
  open: (limits) => opencode.open(limits),
}

function isLine(line: Rec): boolean {
  if (!fits(line.values, 'sessionID:text type:text')) return false
  return line.record('part') !== undefined || (line.at('type') === 'error' && line.has('error'))
}

/** The parts of a message in the database. */
const parts = /* @__PURE__ */ rows<Run>({
  fields,
  on,
  called: 'part',
  quiet: 'snapshot patch file agent compaction retry subtask',
})

/** The input excludes cached tokens. The output includes reasoning up to 1.1, which reports no total. */
function tokensIn(counts: unknown): Tokens | undefined {
  return (Rec.of(counts)?.at('total') === undefined ? withinOutput : counted)(counts)
}
const paths = {
  ...{ input: 'input', output: 'output', reasoning: 'reasoning', total: 'total' },
  ...{ cached: 'cache.read', cache_write: 'cache.write' },
}
const withinOutput = /* @__PURE__ */ tokensAt(paths, { cache: 'apart', reasoning: 'within' })
const counted = /* @__PURE__ */ tokensAt(paths, { cache: 'apart' })

/** A tool appears when it has ended. `completed` proves nothing: the exit code and `invalid` do. */
function readTool(part: Rec, parent: string | undefined, say: Say): void {
  const name = part.text('tool') ?? 'tool'
  const exit_code = part.number('state.metadata.exit')
  const [start, end] = [part.number('state.time.start'), part.number('state.time.end')]
  const call = {
    id: part.text('callID id') ?? '',
    name,
    input: part.record('state.input')?.values,
    output: part.at('state.output'),
    exit_code,
    error: part.text(name === 'invalid' ? 'state.error state.input.error' : 'state.error'),
    duration_ms: start === undefined || end === undefined ? undefined : durationOf(end - start),
    parent,
  }
  const status = part.at('state.status')
  if (status === 'error' || name === 'invalid' || (exit_code ?? 0) !== 0) say.call('failed', call)
  else if (status === 'completed') {
    say.call('completed', call)
    const path = part.text('state.metadata.filepath state.input.filePath')
    const diff = unifiedDiff(part.at('state.metadata.diff'))
    const existed = part.at('state.metadata.exists') === true
    if (path !== undefined && name === 'write') say.artifact(existed ? 'modified' : 'created', path, diff)
    if (path !== undefined && (name === 'edit' || name === 'multiedit')) say.artifact('modified', path, diff)
  } else say.call('started', call)
}

/** The session of the subagent that a line is about: none that is known prints such lines. */
function parentOf(line: Rec, { session }: Run): string | undefined {
  const id = line.text('sessionID')
  return session === undefined || id === session ? undefined : id
}

/** The error in a line, or in a message of the database. */
function errorIn(line: Rec): string {
  if (!line.record('error')) return errorText(line.at('error'))
  const message = errorWords(line.at('error.data')) ?? line.text('error.message') ?? 'no message'
  return `${line.text('error.name error.type') ?? 'error'}: ${message}`
}

/**
 * OpenCode's sessions are rows of a database. They are read as lines: `{opencode: 'session', row}`, then one
 * `{opencode: 'message', id, sessionID, data, parts}` per message. Tools and steps are those of stdout.
 */
export const opencodeSession: Engine = {
  name: 'opencode',
  parser: 'opencode_session',
  growing: true,
  tools,
  denials: opencodeDenial,
  cut: { stdout: 'records' },
  about: 'session of opencode.db (with node:sqlite, from Node 22.5); 1.18, 1.14',
  shape: ({ value }) => (sessionIn(value) ?? messageIn(value)) !== undefined,
  open() {
    const turn = turns()
    const run: Run = { failed: false, over: false, called: false }
    return {
      read({ value }, say) {
        const session = sessionIn(value)
        if (session) {
          const facts = { cwd: session.text('row.directory'), engine_version: session.text('row.version') }
          say.session(session.at('row.id'), facts)
          return true
        }
        const message = messageIn(value)
        if (!message) return false
        say.session(message.at('sessionID'))
        turn.model(message.text('data.modelID'), say)
        const role = message.at('data.role')
        if (role === 'user') {
          const words = promptOf(message)
          if (words !== '') say.user(words)
          run.over = false
          return turn.begin(say)
        }
        if (role === 'assistant') return readAnswer(message, turn, run, say)
        say.unknownType(`role ${String(role)}`)
        return false
      },
    }
  },
}

const sessionIn = (value: unknown) => Rec.of(value, 'opencode=session row:record')
const messageIn = (value: unknown) => Rec.of(value, 'opencode=message data:record parts:list')

/** The user's own text: files and additions of commands are synthetic. */
function promptOf(message: Rec): string {
  const texts = message.records('parts').filter((part) => part.at('type') === 'text')
  const own = texts.filter((part) => part.at('synthetic') !== true)
  return own.flatMap((part) => part.text('text') ?? []).join('\n')
}

function readAnswer(message: Rec, turn: Turns, run: Run, say: Say): true {
  turn.goOn(say)
  const aborted = message.record('data.error') !== undefined
  run.failed = false
  run.stored = { aborted }
  for (const part of message.records('parts')) parts.read(part, say, run)
  if (aborted) turn.fail(errorIn(message.record('data')!), say)
  return true
}
