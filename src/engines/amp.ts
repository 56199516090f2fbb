import type { CallFacts, Engine, Say } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { jsonIn, usualDenial } from './calls.ts'
import { failures, first, isAmp, openDialect } from './claude/claude.ts'
import type { Program } from './command-line.ts'

export const ampProgram: Program = {
  names: 'amp @sourcegraph/amp',
  headless: '-x --execute',
  records: '--stream-json',
  add: '--stream-json',
  blind: 'cost',
}

/** Amp (`amp --execute --stream-json`). The dialect is Claude Code's; its sessions are threads, `T-…`. */
export const amp: Engine = {
  name: 'amp',
  parser: 'amp_ndjson',
  cut: { stdout: 'documents', pty: 'documents' },
  about: 'amp --execute --stream-json; read from public recordings, not run',
  failures,
  tools: {
    read: 'Read',
    edit: 'edit_file create_file undo_edit apply_patch',
    search: 'Grep glob finder list_directory web_search',
    execute: 'Bash shell_command',
    think: 'Task oracle todo_write todo_read',
    fetch: 'read_web_page',
  },
  denials: usualDenial,
  shape: (frame) => isAmp(first(frame)),
  open(limits) {
    const { read, end } = openDialect(limits)
    return { read: (frame, say) => read(frame, withExitCodes(say)), end: (say) => end?.(say) }
  },
}

/** A command that failed is not an error of the tool: its exit code is in the JSON of the output. */
function withExitCodes(say: Say): Say {
  return {
    ...say,
    call(state, call) {
      const exit_code = state === 'completed' ? exitCode(call) : undefined
      say.call(
        (exit_code ?? 0) === 0 ? state : 'failed',
        exit_code === undefined ? call : { ...call, exit_code },
      )
    },
  }
}

function exitCode({ name, output }: CallFacts): number | undefined {
  const code =
    name === 'Bash' && typeof output === 'string' ? Rec.of(jsonIn(output))?.at('exitCode') : undefined
  return Number.isInteger(code) ? Number(code) : undefined
}
