import { clip } from '../base/fault.ts'
import { Rec } from './record.ts'

/** Maximum length of a subject, in characters. */
const MAX_SUBJECT = 2000
/** Characters of a patch that are searched for its files. */
const MAX_PATCH = 1 << 20

const names = [
  'command',
  'cmd',
  'commands',
  'file_path',
  'filePath',
  'filepath',
  'fileName',
  'path',
  'query',
  'pattern',
  'url',
]

/**
 * The subject of a call, in one line: its command, path, query or address, the files of its changes; else its
 * arguments as JSON. A shell that only wraps the command is left out.
 *
 * @example
 * callSubject({ command: "/bin/bash -lc 'npm test'" }) // 'npm test'
 */
export function callSubject(input: unknown): string {
  if (input === undefined || input === null) return ''
  if (typeof input === 'string') return bounded(patchedFiles(input) ?? input)
  if (typeof input !== 'object') return String(input)
  const fields = input as Record<string, unknown> // cast: an object, whose fields are checked below
  for (const name of names) {
    const reported = words(fields[name])
    if (reported !== undefined) return bounded(withoutShell(reported))
  }
  return bounded(changedFiles(fields['changes']) ?? JSON.stringify(input))
}

/** A string, or a list of strings joined: the words of a command, or several commands. */
function words(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  if (!Array.isArray(value) || value.length === 0 || !value.every((word) => typeof word === 'string'))
    return undefined
  const [shell = '', flag = '', script = ''] = value
  return value.length === 3 && isShell(shell) && isFlag(flag) ? script : value.join(' ')
}

function isShell(word: string): boolean {
  return ['sh', 'bash', 'zsh'].includes(word.slice(word.lastIndexOf('/') + 1))
}

function isFlag(word: string): boolean {
  return word === '-c' || word === '-lc'
}

/** The script in `bash -lc '…'`; any other command unchanged. */
function withoutShell(command: string): string {
  const [shell = '', flag = ''] = command.slice(0, 40).split(' ', 2)
  if (!isShell(shell) || !isFlag(flag)) return command
  const script = command.slice(shell.length + flag.length + 2)
  const quote = script[0]
  if (quote !== "'" && quote !== '"') return script.includes(' ') ? command : script
  const inside = script.slice(1, -1)
  if (script.length < 2 || !script.endsWith(quote) || (quote === "'" && inside.includes(quote)))
    return command
  return quote === "'" ? inside : unescaped(inside)
}

/** In double quotes a backslash escapes only these four. */
function unescaped(text: string): string {
  let plain = ''
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && '"\\$`'.includes(text[at + 1] ?? ' ')) at++
    plain += text[at] ?? ''
  }
  return plain
}

function changedFiles(changes: unknown): string | undefined {
  if (typeof changes !== 'object' || changes === null) return undefined
  const paths = Array.isArray(changes)
    ? changes.flatMap((change) => (typeof change?.path === 'string' ? [change.path] : []))
    : Object.keys(changes)
  return paths.length === 0 ? undefined : paths.join(' ')
}

/** The files in a patch, in the format of some engines. */
function patchedFiles(text: string): string | undefined {
  if (!text.startsWith('*** Begin Patch')) return undefined
  const files = text
    .slice(0, MAX_PATCH)
    .split('\n')
    .filter((line) => line.startsWith('*** ') && line.includes(' File: '))
    .map((line) => line.slice(line.indexOf(' File: ') + 7).trim())
  return files.length === 0 ? undefined : files.join(' ')
}

function bounded(text: string): string {
  return text.slice(0, MAX_SUBJECT)
}

const MAX_TITLE = 300

/**
 * What an agent asks to do, in one line: the command, the changes of files, or the tool and what it gets. The
 * model's words about it are no part of it.
 *
 * @example
 * deedOf('edit', { changes: [{ path: 'a.txt', kind: 'add' }] }) // 'create a.txt'
 */
export function deedOf(tool: string, input: unknown): string {
  const given = Rec.of(input)
  const byPath = Object.entries(given?.record('changes')?.values ?? {})
  const listed = byPath.map(([path, change]) => new Rec({ path, kind: change }))
  const changes = [...(given?.records('changes') ?? []), ...listed].flatMap((one) => changeWords(one) ?? [])
  const isCommand = given?.at('command cmd commands') !== undefined
  const subject = changes.join(', ') || callSubject(input)
  const deed = isCommand || changes.length > 0 ? subject : `${tool} ${subject}`.trim()
  return clip(deed, MAX_TITLE)
}

const verbs: Readonly<Record<string, string>> = { add: 'create', delete: 'delete' }

function changeWords(change: Rec): string | undefined {
  const path = change.text('path')
  const moved = change.text('kind.move_path')
  if (path === undefined || moved !== undefined) return path && `move ${path} to ${moved}`
  const isNew = change.has('newText') && !change.at('oldText')
  return `${verbs[change.text('kind kind.type') ?? ''] ?? (isNew ? 'create' : 'edit')} ${path}`
}
