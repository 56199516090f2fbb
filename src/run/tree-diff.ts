import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { type Note, orElse } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { firstLine, sizeWords } from '../views/words.ts'

/** Bytes of a diff to record, and how long git may take for it: before the run, and after it. */
export const MAX_DIFF = 1 << 20
const MAX_MS = 10_000
/** Bytes of any other answer of git. */
const MAX_ANSWER = 1 << 20

/**
 * Compares the working tree before a run with that after it, as git sees it: also files that it does not
 * track, and not those that it ignores. What was changed before the run is no part of that.
 *
 * Git works in a repository of its own in the temporary directory, which only reads the objects of the real
 * one: nothing is written there, and nothing that an agent may have put into its configuration or hooks runs.
 */
export class TreeDiff {
  readonly #cwd: string
  /** What is left out: the directory of the recordings. */
  readonly #except: string | undefined
  /** The own repository. */
  #home = ''
  #settings: readonly string[] = []
  #until = 0
  #before: string | undefined
  /** Why there is no diff, or not all of it. */
  note: Note | undefined

  private constructor(cwd: string, except: string | undefined) {
    this.#cwd = cwd
    this.#except = except
  }

  /** Looks at the tree before the run; what fails is in the `note`. */
  static async start(cwd: string, except: string | undefined): Promise<TreeDiff> {
    const made = new TreeDiff(cwd, except)
    await made.#noting(async () => {
      made.#home = fs.mkdtempSync(join(tmpdir(), 'sluice-diff-'))
      await made.#prepare()
      made.#before = await made.#tree()
    })
    return made
  }

  /** What has changed since, as a unified diff; undefined if that cannot be told. */
  async end(): Promise<string | undefined> {
    const before = this.#before
    if (before === undefined) return undefined
    return await this.#noting(async () => {
      const after = await this.#tree()
      const plain = ['--no-renames', '--no-color', '--no-ext-diff', '--no-textconv', '--relative']
      const ends = ['--src-prefix=a/', '--dst-prefix=b/', before, after]
      const words = ['diff-tree', '-p', '-r', ...plain, ...ends, ...this.#paths()]
      const { text, cut } = await this.#git(words, MAX_DIFF)
      if (cut) this.#tell(`it is larger than ${sizeWords(MAX_DIFF)}, and the rest of it is left out`)
      return text
    })
  }

  close(): void {
    if (this.#home !== '') orElse(() => fs.rmSync(this.#home, { recursive: true, force: true }), undefined)
  }

  async #noting<T>(act: () => Promise<T>): Promise<T | undefined> {
    this.#until = performance.now() + MAX_MS
    try {
      return await act()
    } catch (error) {
      this.#tell(error instanceof Error ? error.message : String(error))
      return undefined
    }
  }

  #tell(why: string): void {
    this.note = { code: 'DIFF_MISSING', message: `no diff of the working tree was recorded: ${why}` }
  }

  /** Makes the own repository, with the index of the real one: what that knows is not read again. */
  async #prepare(): Promise<void> {
    const asked = ['--show-toplevel', '--show-object-format']
    const files = ['index', 'objects', 'info/exclude'].flatMap((name) => ['--git-path', name])
    const { text } = await this.#git(['rev-parse', ...asked, ...files], MAX_ANSWER, false)
    const [top = '', format = '', ...paths] = text.trimEnd().split('\n')
    const [index = '', objects = '', exclude = ''] = paths.map((path) => resolve(this.#cwd, path))
    const settings = await this.#git(['config', '--get-regexp', SETTINGS], MAX_ANSWER, false).catch(
      () => NONE,
    )
    this.#settings = settings.text
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line) => ['-c', line.replace(' ', '=')])
    await this.#git(
      ['init', '-q', '--bare', '--template=', `--object-format=${format}`, this.#home],
      MAX_ANSWER,
      false,
    )
    this.#settings = [...this.#settings, '-c', 'core.bare=false', '-c', 'advice.addEmbeddedRepo=false']
    this.#settings = [...this.#settings, `--git-dir=${this.#home}`, `--work-tree=${top}`]
    for (const folder of ['objects/info', 'info']) fs.mkdirSync(join(this.#home, folder), { recursive: true })
    fs.writeFileSync(join(this.#home, 'objects/info/alternates'), `${objects}\n`)
    const ignored = fs.existsSync(exclude) ? `${fs.readFileSync(exclude, 'utf8')}\n` : ''
    // Not as a path of `git add`, which fails if that is ignored already.
    const inside = insideOf(top, this.#except)
    const own = inside ? `/${inside.replace(/[\\*?[\]! #]/g, '\\$&')}/\n` : ''
    fs.writeFileSync(join(this.#home, 'info/exclude'), ignored + own)
    if (fs.existsSync(index)) fs.copyFileSync(index, join(this.#home, 'index'))
  }

  /** The id of the tree as it is now. */
  async #tree(): Promise<string> {
    await this.#git(['add', '-A', '--', '.'], MAX_ANSWER)
    return (await this.#git(['write-tree', '--missing-ok'], MAX_ANSWER)).text.trim()
  }

  /** All but the recordings, which may be tracked. */
  #paths(): string[] {
    const inside = insideOf(this.#cwd, this.#except)
    return inside ? ['--', '.', `:(exclude,literal)${inside}`] : []
  }

  #git(words: readonly string[], maxBuffer: number, own = true): Promise<{ text: string; cut: boolean }> {
    const timeout = Math.max(1, Math.round(this.#until - performance.now()))
    const options = { cwd: this.#cwd, env: plainEnv(), maxBuffer, timeout, killSignal: 'SIGKILL' } as const
    return new Promise((done, fail) => {
      const args = [...(own ? this.#settings : []), ...words]
      execFile('git', args, { ...options, encoding: 'buffer' }, (error, stdout, stderr) => {
        const cut = codeOf(error) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
        if (!error || cut) done({ text: stdout.toString(), cut })
        else if (codeOf(error) === 'ENOENT') fail(new Error('git is not installed'))
        else if (error.killed) fail(new Error(`git took longer than ${MAX_MS / 1000} s`))
        else fail(new Error(firstLine(stderr.toString()) || `git ${words[0]} failed`))
      })
    })
  }
}

/** The path of what is below a folder, with slashes; undefined for another place. */
function insideOf(folder: string, path: string | undefined): string | undefined {
  const inside = path && relative(folder, path).split(sep).join('/')
  return inside && !inside.startsWith('..') ? inside : undefined
}

const NONE = { text: '', cut: false }
/** What decides how files are compared; nothing of it names a program. */
const SETTINGS = '^core\\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)$'

/** The environment without what would lead git to another repository, or change how it speaks. */
function plainEnv(): NodeJS.ProcessEnv {
  const all = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return { ...Object.fromEntries(all), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' }
}

/** The diff of each file of one of git, by path. */
export function diffsOf(patch: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of patch.split(/^(?=diff --git )/m)) {
    // Without renames both names are the same; those in quotes have characters that no artifact has.
    const head = part.slice(0, part.indexOf('\n'))
    const path = head.slice(head.length / 2 + 8)
    if (head === `diff --git a/${path} b/${path}`) found.set(path, part)
  }
  return found
}
