import { clip } from '../base/fault.ts'
import { jsonValue } from '../json/strict.ts'
import type { CallFacts } from './engine.ts'
import type { AgentRequest } from './event.ts'
import { Rec } from './record.ts'

/** Maximum length of an output to parse as JSON, in characters. */
const MAX_JSON = 1 << 20

/**
 * The result of a call, as text: its output with stderr last, and its error unless the output contains it
 * already. Empty if there is none.
 *
 * @example
 * callText({ output: { stdout: '1 failed\n', stderr: 'boom\n' } }) // '1 failed\nboom'
 */
export function callText({ output, error }: Pick<CallFacts, 'output' | 'error'>): string {
  const whole = textOf(unpacked(output), 0)
  // Without blank lines at its start, but with the indent of its first line.
  const text = whole.slice(whole.lastIndexOf('\n', whole.search(/\S/)) + 1).trimEnd()
  const reported = error?.trim() ?? ''
  if (reported === '' || text.includes(reported)) return text
  return text === '' ? reported : `${text}\n${reported}`
}

/** Some engines serialize an object with the output into a string. */
function unpacked(output: unknown): unknown {
  if (typeof output !== 'string' || !output.startsWith('{"') || output.length > MAX_JSON) return output
  // cast: the text begins with `{`
  const value = jsonValue(output) as Record<string, unknown> | undefined
  return pieces.some((name) => typeof value?.[name] === 'string') ? value : output
}

/** The fields of an object that may have its text. The first one counts, followed by the errors. */
const pieces = ['stdout', 'aggregated_output', 'output', 'result', 'text', 'content', 'message']
const errors = ['stderr', 'error', 'errorMessage']

function textOf(value: unknown, depth: number): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value !== 'object') return String(value)
  if (depth > 4) return JSON.stringify(value)
  if (Array.isArray(value)) return lines(value.map((part) => textOf(part, depth + 1)))
  const fields = value as Record<string, unknown> // cast: an object, whose fields are checked below
  const found = pieces.find((name) => name in fields && fields[name] !== '')
  const bad = errors.filter((name) => typeof fields[name] === 'string')
  if (found === undefined && bad.length === 0) return JSON.stringify(value)
  return lines([
    found === undefined ? '' : textOf(fields[found], depth + 1),
    ...bad.map((name) => String(fields[name])),
  ])
}

function lines(parts: readonly string[]): string {
  return parts
    .map((part) => part.trimEnd())
    .filter((part) => part !== '')
    .join('\n')
}

/** What a request asks, in one line: the question, or the tool and what it would do. */
export function askWords({
  request: { kind, tool, title, input },
}: {
  readonly request: AgentRequest
}): string {
  if (kind === 'question') return title
  const subject = callSubject(input)
  // Some agents show no input, or only the title.
  const known = subject !== '' && !subject.startsWith('{')
  return known || !title.startsWith(tool) ? `${tool}: ${known ? subject : title}` : title
}

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
