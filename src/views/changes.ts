import type { AgentEvent } from '../events/event.ts'
import type { FileItem, Item, ToolItem } from './conversation.ts'

/** One edit of a file, as lines of a unified diff, and the address of its event: `<attempt>.<seq>`. */
export interface FileEdit {
  readonly event: string
  readonly diff: string
}

/** A file that a run changed, and how, the first edit first. */
export interface ChangedFile {
  readonly path: string
  /** Missing if only a call told of it, and nothing says that the file did change. */
  readonly change?: FileItem['change']
  /** Empty if only its name is known. */
  readonly edits: readonly FileEdit[]
}

/** Files to remember; characters of one edit, and of all. */
const MAX_FILES = 10_000
const MAX_EDIT = 65_536
const MAX_EDITS = 8_388_608
/** Edits in one call. */
const MAX_IN_CALL = 1000

// The names that agents have for what an edit is made of.
export const before = ['old_string', 'old_str', 'oldText', 'oldString']
export const after = ['new_string', 'new_str', 'newText', 'newString']
export const paths = ['file_path', 'filePath', 'filepath', 'path', 'absolute_path', 'notebook_path']
const wholes = ['content', 'contents', 'file_text', 'fileText']
const patches = ['unified_diff', 'diff', 'patch', 'input']

interface Known {
  change?: FileItem['change']
  /** As the calls had it. */
  readonly called: FileEdit[]
  /** Of the end of each attempt: the last edit, or all of it. */
  readonly told: FileEdit[]
  whole: boolean
}

/**
 * Gathers what a run changed, by file: the working tree's own diff if it was recorded, else the edits that
 * the agent made with its tools, else the last one, which the agent told of; else the name alone.
 *
 * @example
 * const changes = new Changes()
 * for await (const event of events) changes.take(event, talk.take(event))
 * changes.files() // [{ path: 'a.ts', change: 'modified', edits: [{ event: '1.12', diff: '-a\n+b' }] }]
 */
export class Changes {
  readonly #files = new Map<string, Known>()
  #room = MAX_EDITS

  /** Takes the next event, and the item of the conversation that it belongs to. */
  take(event: AgentEvent, item: Item): void {
    if (item.kind === 'artifact') this.#artifact(event, item)
    // A completed call takes no more events, so its edits are read once.
    if (item.kind !== 'tool' || item.state !== 'completed' || !changing.has(item.does)) return
    for (const [path, diff] of editsOf(item)) this.#edit(this.#fileOf(path)?.called, item.id, diff)
  }

  #artifact(event: AgentEvent, { id, path, change, diff }: FileItem): void {
    const file = this.#fileOf(path)
    if (!file) return
    file.change = change
    // Cast: an artifact, whose data the conversation has read.
    if ((event.data as { whole?: unknown }).whole === true) file.whole = true
    if (diff) this.#edit(file.told, id, diff)
  }

  #edit(edits: FileEdit[] | undefined, event: string, text: string): void {
    const diff = text.slice(0, Math.min(MAX_EDIT, this.#room))
    if (!edits || diff === '') return
    this.#room -= diff.length
    edits.push({ event, diff })
  }

  #fileOf(path: string): Known | undefined {
    const known = this.#files.get(path)
    if (known || this.#files.size >= MAX_FILES) return known
    const made: Known = { called: [], told: [], whole: false }
    this.#files.set(path, made)
    return made
  }

  /** The files, by name. */
  files(): ChangedFile[] {
    const all = new Map([...this.#files].map(([path, known]) => [path, { ...known }]))
    // A call names a file with its directory; the event about the change does not.
    for (const [path, { change, called }] of this.#files) {
      if (change !== undefined || !isAbsolute(path)) continue
      const ends = path.replaceAll('\\', '/')
      const own = [...all.keys()].find((short) => all.get(short)?.change && ends.endsWith(`/${short}`))
      const file = own === undefined ? undefined : all.get(own)
      if (!file) continue
      all.set(own!, { ...file, called: [...file.called, ...called] })
      all.delete(path)
    }
    const files = [...all].map(([path, { change, called, told, whole }]): ChangedFile => {
      const isLess = told.length === 0 || (!whole && called.length > told.length)
      return { path, ...(change && { change }), edits: isLess ? called : told }
    })
    return files.sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}

const changing: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

function isAbsolute(path: string): boolean {
  return path.startsWith('/') || path[1] === ':'
}

/** The edits in the input of a call: the file of each, and its lines. */
function editsOf({ input, lateInput }: ToolItem): [string, string][] {
  const found: [string, string][] = []
  gather(input ?? lateInput, '', found)
  return found.slice(0, MAX_IN_CALL)
}

function gather(input: unknown, path: string, found: [string, string][], depth = 0): void {
  if (typeof input === 'string') {
    if (input.startsWith('*** Begin Patch')) found.push(...patchedFiles(input))
    return
  }
  if (typeof input !== 'object' || input === null || depth > 3) return
  if (Array.isArray(input)) {
    for (const one of input.slice(0, MAX_IN_CALL)) gather(one, path, found, depth + 1)
    return
  }
  const fields = input as Readonly<Record<string, unknown>> // cast: an object, whose fields are checked
  const text = (names: readonly string[]) =>
    // Cast: found as a text.
    names.map((name) => fields[name]).find((value) => typeof value === 'string') as string | undefined
  const own = text(paths) ?? path
  const [old, fresh, whole, patch] = [text(before), text(after), text(wholes), text(patches)]
  const { kind, type, changes, edits } = fields
  // Codex says `{ type: 'add' }` of a change, or the word alone.
  const way = String((kind as { type?: unknown } | undefined)?.type ?? kind ?? type)
  const isWhole = way === 'add' || way === 'delete'
  if (own !== '' && fresh !== undefined) found.push([own, replacedLines(old ?? '', fresh)])
  else if (own !== '' && isWhole) {
    const all = whole ?? patch ?? ''
    found.push([own, way === 'add' ? replacedLines('', all) : replacedLines(all, '')])
  } else if (own !== '' && whole !== undefined) found.push([own, replacedLines('', whole)])
  else if (patch?.startsWith('*** Begin Patch')) found.push(...patchedFiles(patch))
  else if (own !== '' && patch !== undefined) found.push([own, patch])
  gather(edits, own, found, depth + 1)
  if (Array.isArray(changes)) gather(changes, own, found, depth + 1)
  else if (typeof changes === 'object' && changes !== null)
    for (const [name, change] of Object.entries(changes)) gather(change, name, found, depth + 1)
}

/** The files of a patch as some models write it, and their lines. */
function patchedFiles(patch: string): [string, string][] {
  const parts = patch.slice(0, MAX_EDITS).split(/^\*\*\* (?:Add|Update|Delete) File: /m)
  return parts.slice(1, MAX_IN_CALL).map((part) => {
    const [path = '', ...lines] = part.split('\n')
    return [path.trim(), lines.filter((line) => !line.startsWith('*** ')).join('\n')]
  })
}

/** Two texts, the one before and the one after, as lines that go and lines that come. */
export function replacedLines(old: string, fresh: string): string {
  const signed = (sign: string, text: string) =>
    text && sign + text.slice(0, MAX_REPLACED).replace(/\n$/, '').replaceAll('\n', `\n${sign}`)
  return [signed('-', old), signed('+', fresh)].filter(Boolean).join('\n')
}

/** Characters of a text before and after to compare. */
const MAX_REPLACED = 199_999

/**
 * The files as one unified diff. Of edits that the agent told without line numbers, a line tells which one
 * of the file it is.
 */
export function unifiedDiff(files: readonly ChangedFile[]): string {
  return files.map(fileDiff).join('')
}

function fileDiff({ path, change, edits }: ChangedFile): string {
  const bodies = edits.map(({ diff }) => diff.replace(/\n$/, ''))
  const head = `diff --git a/${path} b/${path}`
  if (bodies.length === 0) return `${head}\n# ${change}, and neither the agent nor git told how\n`
  // Git's own can be applied as it is.
  if (bodies.every((body) => body.startsWith(`${head}\n`))) return `${bodies.join('\n')}\n`
  const lines = bodies.map(diffBody).flatMap((body, at) =>
    // What has hunks of its own needs no other line, unless it is one of several.
    body.startsWith('@@') && bodies.length === 1
      ? [body]
      : [`@@ edit ${at + 1} of ${bodies.length} @@`, body],
  )
  const names = [`--- ${change === 'created' ? '/dev/null' : `a/${path}`}`]
  names.push(`+++ ${change === 'deleted' ? '/dev/null' : `b/${path}`}`)
  return `${[head, ...names, ...lines].join('\n')}\n`
}

/** A diff without the lines that name its file. */
export function diffBody(diff: string): string {
  const lines = diff.split('\n')
  const first = lines.findIndex((line) => !heads.some((start) => line.startsWith(start)))
  return lines.slice(Math.max(0, first)).join('\n')
}

const heads = [
  'diff ',
  'index ',
  'Index: ',
  '====',
  '--- ',
  '+++ ',
  'new file ',
  'deleted file ',
  'old mode ',
  'new mode ',
]
