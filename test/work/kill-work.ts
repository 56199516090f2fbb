import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ledger } from '../../src/work/ledger.ts'
import { built } from '../built.ts'

/** How a start ends, if it is not killed. */
const cases = {
  'a good worker': { open: false, args: ['--', 'sh', 'good.sh'], state: 'ok' },
  'a worker that leaves nothing': { open: false, args: ['--', 'sh', '-c', 'exit 3'], state: 'needs-human' },
  'the result of a person': { open: true, args: ['--result', 'by-hand.json'], state: 'ok' },
  'a second start that works': { open: true, args: ['--', 'sh', 'good.sh'], state: 'ok' },
} as const
export type Case = keyof typeof cases
export const caseNames = Object.keys(cases) as Case[]

const result = { issue_ref: 'shop#12', run_id: 'run-7', status: 'ok', commit: 'c', tests: 'n/a' }
const files = {
  'good.sh': `printf '%s' '${JSON.stringify(result)}' > draft && mv draft work_result.json`,
  'by-hand.json': JSON.stringify(result),
}

// Counts every call with which a process changes or reads the disk under the outbox, and dies at one of them.
const preload = `
  import fs from 'node:fs'
  import fsp from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  const fatal = Number(process.env.KILL_AT)
  let calls = 0
  const step = (real, torn) => {
    if (++calls !== fatal) return real()
    torn?.()
    process.kill(process.pid, 'SIGKILL')
    for (;;);
  }
  const ours = (args) => args.some((arg) => typeof arg === 'string' && arg.includes('/box'))
  const patch = (table, names) => {
    for (const name of names) {
      const real = table[name]
      table[name] = (...args) => (ours(args) ? step(() => wrapped(real(...args))) : real(...args))
    }
  }
  // An opened file is written in further calls; a write may get half through.
  const wrapped = (opened) => opened?.then?.((file) => {
    if (typeof file?.appendFile !== 'function') return file
    for (const name of ['writeFile', 'appendFile', 'sync', 'close']) {
      const real = file[name].bind(file)
      file[name] = (...args) =>
        step(() => real(...args), () => typeof args[0] === 'string' && fs.writeSync(file.fd, args[0].slice(0, args[0].length / 2)))
    }
    return file
  }) ?? opened
  patch(fsp, ['open', 'link', 'rename', 'rm', 'mkdir', 'readdir', 'realpath', 'access', 'lstat'])
  patch(fs, ['openSync', 'linkSync', 'renameSync', 'rmSync', 'mkdirSync', 'writeFileSync'])
  syncBuiltinESMExports()
  process.on('exit', () => fs.writeFileSync(process.env.KILL_COUNT, String(calls)))
`

/** What a start did. */
interface Start {
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly calls: number
}

/** What a killed start and the one after it came to. */
export interface Killed {
  readonly signal: string | null
  readonly delivery: string
}

/** `sluice work` as a process that is killed at any of its calls of the file system. */
export function killedWork() {
  const home = mkdtempSync(join(tmpdir(), 'sluice-work-kill-'))
  writeFileSync(join(home, 'preload.mjs'), preload)

  async function start(dir: string, args: readonly string[], killAt = 0): Promise<Start> {
    const count = join(dir, 'count')
    rmSync(count, { force: true })
    const child = spawn(
      process.execPath,
      [
        '--import',
        join(home, 'preload.mjs'),
        built('src/cli/main.ts'),
        ...['work', '--order', join(dir, 'order.json'), '--outbox', join(dir, 'box')],
        ...args.map((arg) => (arg in files ? join(dir, arg) : arg)),
      ],
      {
        // A killed start cannot remove its temporary files: they go with the rest.
        env: { ...process.env, TMPDIR: home, KILL_AT: String(killAt), KILL_COUNT: count },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const [out, err, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ])
    if (err !== '') throw new Error(`it says: ${err}; see ${dir}`)
    return { code, signal, out, calls: existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0 }
  }

  /** A place of its own, which may already hold a run that needs a human. */
  async function place(name: Case): Promise<string> {
    const dir = mkdtempSync(join(home, 'run-'))
    mkdirSync(join(dir, 'repo'))
    const order = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: join(dir, 'repo') }
    writeFileSync(join(dir, 'order.json'), JSON.stringify(order))
    for (const [file, content] of Object.entries(files)) writeFileSync(join(dir, file), content)
    if (cases[name].open) {
      const before = join(home, 'open')
      if (!existsSync(before)) {
        await start(dir, ['--', 'sh', '-c', 'echo no network >&2; exit 1'])
        cpSync(join(dir, 'box'), before, { recursive: true })
      } else cpSync(before, join(dir, 'box'), { recursive: true })
    }
    return dir
  }

  return {
    remove: () => rmSync(home, { recursive: true }),

    /** So many calls a start of this case makes. */
    async calls(name: Case): Promise<number> {
      const dir = await place(name)
      const { calls } = await start(dir, cases[name].args)
      rmSync(dir, { recursive: true })
      return calls
    },

    /**
     * Kills a start at one of its calls, starts the same order again, and throws with the directory if
     * anything is lost or there twice.
     */
    async kill(name: Case, call: number): Promise<Killed> {
      const dir = await place(name)
      const { args, state, open } = cases[name]
      const killed = await start(dir, args, call)
      const again = await start(dir, args)
      const fail = (why: string) => new Error(`${why}; see ${dir} (${name}, call ${call})`)
      const work = JSON.parse(again.out)
      const advanced = state === 'ok'
      if (again.code !== (advanced ? 0 : 5)) throw fail(`it ended with ${again.code}`)
      if (work.verdict !== (advanced ? 'advance' : 'needs-human'))
        throw fail(`the verdict is ${work.verdict}`)
      if (!['posted', 'replaced', 'already posted'].includes(work.delivery)) throw fail(work.delivery)
      const comments = readdirSync(join(dir, 'box/comments')).filter((file) => file.endsWith('.md'))
      if (comments.length !== 1) throw fail(`there are ${comments.length} comments`)
      const comment = readFileSync(join(dir, 'box/comments', comments[0]!), 'utf8')
      if (!comment.includes(`\nStatus: ${state}\n`)) throw fail('the comment tells another state')
      if (existsSync(join(dir, 'box/archive'))) throw fail('a result was archived')
      const entry = await ledger(join(dir, 'box/ledger')).read('shop#12')
      if (entry?.state !== state) throw fail(`the ledger says ${entry?.state}`)
      const lines = whole(readFileSync(join(dir, 'box/journal.jsonl'), 'utf8'))
      if (new Set(lines.map(({ id }) => id)).size !== lines.length) throw fail('the journal has a line twice')
      if (lines.length !== (open ? 2 : 1)) throw fail(`the journal has ${lines.length} lines`)
      if (!comment.includes(lines.at(-1)!.digest)) throw fail('the journal tells of another comment')
      // What the killed one had already printed was true.
      if (killed.out.endsWith('\n') && JSON.parse(killed.out).verdict !== work.verdict) {
        throw fail('it had printed another verdict')
      }
      rmSync(dir, { recursive: true })
      return { signal: killed.signal, delivery: work.delivery }
    },
  }
}

/** The lines of a journal that a killed writer has not torn. */
function whole(journal: string): { id: string; digest: string }[] {
  return journal.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })
}
