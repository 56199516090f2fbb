import { type Call, type Engine, isRecord, type Say } from '../events/engine.ts'
import { failures, first, isAmp, openDialect } from './claude/claude.ts'
import { usualDenial } from './denials.ts'

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
    completed(call) {
      const exit_code = exitCode(call)
      const failed = exit_code !== undefined && exit_code !== 0
      say[failed ? 'failed' : 'completed']({ ...call, exit_code })
    },
  }
}

function exitCode({ name, output }: Call): number | undefined {
  if (name !== 'Bash' || typeof output !== 'string' || !output.startsWith('{')) return undefined
  try {
    const result: unknown = JSON.parse(output)
    return isRecord(result) && Number.isInteger(result['exitCode']) ? Number(result['exitCode']) : undefined
  } catch {
    return undefined
  }
}
