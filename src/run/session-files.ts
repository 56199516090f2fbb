import fs from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { orElse } from '../base/fault.ts'
import { canReadOpenCode, openCodeSessions } from './opencode-db.ts'

/** The engines that keep session files, and their places. */
const places = {
  claude: { variable: 'CLAUDE_CONFIG_DIR', root: '.claude', path: ['projects', '*', '*.jsonl'] },
  codex: { variable: 'CODEX_HOME', root: '.codex', path: ['sessions', '*', '*', '*', 'rollout-*.jsonl'] },
  gemini: { variable: undefined, root: '.gemini', path: ['tmp', '*', 'chats', 'session-*'] },
  qwen: { variable: undefined, root: '.qwen', path: ['projects', '*', 'chats', '*.jsonl'] },
  copilot: { variable: 'COPILOT_HOME', root: '.copilot', path: ['session-state', '*', 'events.jsonl'] },
  pi: { variable: 'PI_CODING_AGENT_DIR', root: '.pi/agent', path: ['sessions', '*', '*.jsonl'] },
  cline: { variable: undefined, root: '.cline', path: ['data', 'sessions', '*', '*.messages.json'] },
} as const satisfies Record<string, SessionPlace>

interface SessionPlace {
  /** An environment variable with another directory than `root` in the home directory. */
  readonly variable: string | undefined
  readonly root: string
  /** Names of directories, then of files; `*` matches any characters. */
  readonly path: readonly string[]
}

/** An agent whose session files can be found in the home directory. */
export type SessionEngine = keyof typeof places | 'opencode'

export interface SessionFile {
  readonly engine: SessionEngine
  readonly path: string
  /** When it was written last, in milliseconds since 1970. */
  readonly modified: number
  readonly size: number
  /** Its name relative to the directory of the engine, with slashes. */
  readonly name: string
  /** The real path of the engine's directory: a file that is really elsewhere is not read. */
  readonly within: string
  /** Which session of the file, if it is a database with many. */
  readonly session?: string
}

export interface SessionPlaces {
  /**
   * The home directory to search; then the engines' own environment variables are ignored.
   * @default the user's
   */
  readonly home?: string | undefined
  /** Only this engine. @default all */
  readonly engine?: SessionEngine | undefined
  /** Maximum number of directory entries per engine; those after them are not found. @default 50000 */
  readonly maxEntries?: number | undefined
}

// Cast: the keys of a literal.
const fileEngines = Object.keys(places) as (keyof typeof places)[]
export const sessionEngines: readonly SessionEngine[] = [...fileEngines, 'opencode']

/**
 * Finds the session files of agents, the newest first. No file is opened, links below the engine's directory
 * are not followed, and what cannot be read is skipped.
 */
export function sessionFiles(options: SessionPlaces = {}): SessionFile[] {
  const { home, engine: wanted, maxEntries = 50_000 } = options
  const found: SessionFile[] = []
  for (const engine of fileEngines) {
    if (wanted !== undefined && engine !== wanted) continue
    const { variable, root, path } = places[engine]
    const variableSays = home === undefined && variable !== undefined ? process.env[variable] : undefined
    const fixed = path.findIndex((pattern) => pattern.includes('*'))
    const base = join(variableSays || join(home ?? homedir(), root), ...path.slice(0, fixed))
    const within = orElse(() => fs.realpathSync(base), undefined)
    if (within === undefined) continue
    let left = maxEntries
    const walk = (dir: string, depth: number, name: string) => {
      const pattern = path[depth]!
      const last = depth === path.length - 1
      if (!pattern.includes('*') && !last) {
        walk(join(dir, pattern), depth + 1, `${name}${pattern}/`)
        return
      }
      for (const entry of entriesOf(dir)) {
        if (left-- <= 0) return
        if (!fits(entry.name, pattern)) continue
        const there = join(dir, entry.name)
        // The file of a subagent is not a session of its own.
        const isPart = engine === 'claude' && entry.name.startsWith('agent-')
        if (!last && entry.isDirectory()) walk(there, depth + 1, `${name}${entry.name}/`)
        else if (last && entry.isFile() && !isPart) {
          const stats = statOf(there)
          if (!stats) continue
          const { mtimeMs: modified, size } = stats
          found.push({ engine, path: there, name: `${name}${entry.name}`, within, modified, size })
        }
      }
    }
    walk(base, fixed, '')
  }
  if (wanted === undefined || wanted === 'opencode') found.push(...rowsOf(openCodeDatabase(home)))
  return found.sort((a, b) => b.modified - a.modified)
}

/** Where OpenCode keeps all its sessions. */
export function openCodeDatabase(home?: string | undefined): string {
  const data = home === undefined ? process.env['XDG_DATA_HOME'] : undefined
  return join(data || join(home ?? homedir(), '.local', 'share'), 'opencode', 'opencode.db')
}

/** Maximum number of sessions to read from a database. */
const MAX_ROWS = 2000

/** The sessions of OpenCode. None without `node:sqlite`; the command says so. */
function rowsOf(path: string): SessionFile[] {
  const stats = statOf(path)
  if (!stats?.isFile() || !canReadOpenCode()) return []
  return orElse(() => openCodeSessions(path, MAX_ROWS), []).map(({ id, time_updated }) => ({
    engine: 'opencode' as const,
    path,
    name: id,
    within: dirname(path),
    session: id,
    // Another program wrote it: it may not be a valid time.
    modified: Number.isNaN(new Date(time_updated).valueOf()) ? 0 : time_updated,
    size: stats.size,
  }))
}

/** The newest names first, if they begin with the date: beyond the limit the old ones are missing. */
function entriesOf(dir: string): fs.Dirent[] {
  const entries = orElse(() => fs.readdirSync(dir, { withFileTypes: true }), [])
  return entries.sort((a, b) => (a.name < b.name ? 1 : -1))
}

function statOf(path: string): fs.Stats | undefined {
  return orElse(() => fs.statSync(path), undefined)
}

function fits(name: string, pattern: string): boolean {
  const at = pattern.indexOf('*')
  if (at < 0) return name === pattern
  const start = pattern.slice(0, at)
  const end = pattern.slice(at + 1)
  return name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end)
}
