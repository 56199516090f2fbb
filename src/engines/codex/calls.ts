import { type Call, isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { durationOf } from '../duration.ts'
import { changesByPath, durationOfParts, errorText, readChanges } from './change.ts'

type Line = Record<string, unknown>

/** Functions that run a command; on stdout all of them are `command_execution`. */
const commands = new Set(['exec_command', 'shell', 'shell_command', 'local_shell', 'container.exec'])

/**
 * Reads the calls of a rollout. A `response_item` has their start. Their end is recorded up to twice: by the
 * output that the model got, and by an event or an item that has the exit code. The first of them counts.
 */
export function callReader() {
  /** Names of the open calls. */
  const open = memory<string>((name) => name.length)
  const ended = memory<true>(() => 0)

  const start = (payload: Line, input: unknown, say: Say): true => {
    const id = text(payload['call_id']) ?? text(payload['id']) ?? ''
    const name = nameOf(text(payload['name']) ?? 'local_shell')
    open.set(id, name)
    say.started({ id, name, input })
    return true
  }

  /** Reports the end of a call, once. True if this was the first. */
  const end = (call: Call, failed: boolean, say: Say): boolean => {
    open.take(call.id)
    if (ended.get(call.id)) return false
    ended.set(call.id, true)
    if (failed) say.failed(call)
    else say.completed(call)
    return true
  }

  const output = (payload: Line, say: Say): true => {
    const id = text(payload['call_id']) ?? ''
    const name = open.get(id)
    if (name === undefined) return true
    const reported = readOutput(payload['output'], name)
    if (reported)
      end({ id, name, ...reported }, reported.error !== undefined || (reported.exit_code ?? 0) !== 0, say)
    return true
  }

  return {
    /** A `response_item`. Messages and reasoning are recorded as events too, and are read there. */
    read(payload: Line, say: Say): boolean {
      switch (payload['type']) {
        case 'function_call':
          return start(payload, inputOf(payload), say)
        case 'custom_tool_call':
          return start(payload, payload['input'], say)
        case 'local_shell_call':
          return start(payload, payload['action'], say)
        case 'function_call_output':
        case 'custom_tool_call_output':
          return output(payload, say)
        case 'message':
        case 'reasoning':
        case 'ghost_snapshot':
        case 'web_search_call':
        case 'compaction':
          return true
        default:
          say.unknownType(`response_item ${String(payload['type'])}`)
          return false
      }
    },
    /** The item of a call that ended (0.166). False if it is not a call. */
    item(item: Line, say: Say): boolean {
      const id = text(item['id']) ?? ''
      const exit_code = typeof item['exit_code'] === 'number' ? item['exit_code'] : undefined
      const error = item['error'] ? errorText(item['error']) : undefined
      const bad = item['status'] === 'failed' || item['status'] === 'declined' || (exit_code ?? 0) !== 0
      const failed = bad || error !== undefined
      const duration_ms = durationOfParts(item['duration'])
      switch (item['type']) {
        case 'CommandExecution': {
          const input = { command: item['command'] }
          const output = item['aggregated_output']
          end({ id, name: 'command_execution', input, output, exit_code, error, duration_ms }, failed, say)
          return true
        }
        case 'McpToolCall': {
          const name = `${item['server']}.${item['tool']}`
          const output = item['result'] ?? undefined
          end({ id, name, input: item['arguments'], output, error, duration_ms }, failed, say)
          return true
        }
        case 'FileChange':
          patched(id, item, failed, say)
          return true
        default:
          return false
      }
    },
    /** A `patch_apply_end` (0.142). */
    patch: (payload: Line, say: Say) =>
      patched(text(payload['call_id']) ?? '', payload, payload['success'] === false, say),
  }

  function patched(id: string, payload: Line, failed: boolean, say: Say): void {
    const changes = changesByPath(payload['changes'])
    const error = failed ? text(payload['stderr']) : undefined
    const call = {
      id,
      name: 'file_change',
      // As on stdout, without the written text, which can be long.
      input: { changes: changes.map(({ path, kind }) => ({ path, kind })) },
      output: payload['stdout'] ?? undefined,
      error,
    }
    if (end(call, failed, say) && !failed) readChanges(changes, say)
  }
}

/** The name that `codex exec --json` uses for a function. */
function nameOf(name: string): string {
  if (commands.has(name)) return 'command_execution'
  return name === 'apply_patch' ? 'file_change' : name
}

/** The arguments of a function, with the command where stdout has it. */
function inputOf(payload: Line): unknown {
  const given = parsed(payload['arguments'])
  if (!isRecord(given) || !commands.has(text(payload['name']) ?? '')) return given
  return { command: given['command'] ?? given['cmd'] }
}

/** Maximum length of the head that Codex puts before the output of a command. */
const MAX_HEAD = 400
const exitWords = ['Process exited with code ', 'Exit code: ']
const WALL_TIME = 'Wall time: '
const RUNNING = 'Process running with session ID '

/**
 * What the output of a call contains: JSON with the exit code (0.74), or text with it (0.142). Nothing if the
 * command is still running. A command that never started, or a patch that was refused, has an output without
 * a head: it failed.
 */
function readOutput(
  output: unknown,
  name: string,
): Pick<Call, 'output' | 'exit_code' | 'error' | 'duration_ms'> | undefined {
  const words = isRecord(output) ? output['content'] : output
  if (name !== 'command_execution' && name !== 'file_change') return { output: words }
  const json = parsed(words)
  if (isRecord(json) && isRecord(json['metadata']) && typeof json['metadata']['exit_code'] === 'number') {
    const { exit_code, duration_seconds } = json['metadata']
    return { output: json['output'], exit_code, duration_ms: milliseconds(duration_seconds) }
  }
  const said = text(words) ?? ''
  const at = said.indexOf('Output:\n')
  const head = said.slice(0, at >= 0 && at < MAX_HEAD ? at : MAX_HEAD).split('\n')
  const exit = head.flatMap((line) => codeIn(line)).at(0)
  if (exit !== undefined) {
    const duration_ms = head.map(wallTime).find((time) => time !== undefined)
    return { output: at >= 0 ? said.slice(at + 'Output:\n'.length) : said, exit_code: exit, duration_ms }
  }
  if (head.some((line) => line.startsWith(RUNNING))) return undefined
  return { output: words, error: said }
}

/** The exit code in a line of the head. */
function codeIn(line: string): number[] {
  const words = exitWords.find((start) => line.startsWith(start))
  const code =
    words === undefined || line.length === words.length ? Number.NaN : Number(line.slice(words.length))
  return Number.isInteger(code) ? [code] : []
}

/** The duration in a line of the head. */
function wallTime(line: string): number | undefined {
  if (!line.startsWith(WALL_TIME) || !line.endsWith(' seconds')) return undefined
  return milliseconds(Number(line.slice(WALL_TIME.length, -' seconds'.length)))
}

function milliseconds(seconds: unknown): number | undefined {
  return typeof seconds === 'number' ? durationOf(Math.round(seconds * 1000)) : undefined
}

/** The value of JSON in a string; the string itself if it is not JSON. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('{')) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
