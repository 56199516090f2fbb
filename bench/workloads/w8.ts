import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { answerTo, type Candidate, type Scene, type Visit, type Workload } from '../measure.ts'
import { endsOf, endsReached, engineLines, logOf, mixedRuns, recordsOf } from '../real-lines.ts'

const JQ = 'jq -c .'

export const w8: Workload = {
  id: 'W8',
  title: 'whole programs on a real log',
  input: 'a file of real NDJSON, output to /dev/null; seconds on the wall, start-up included',
  async *scenes(quick) {
    const bytes = (quick ? 10 : 256) << 20
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    const files = { checked: join(folder, 'checked.log'), timed: join(folder, 'timed.log') }
    try {
      const all = await scene(files, mixedRuns, bytes, [[sluiceValues(files), 2.5]])
      yield { ...all, name: 'all engines, run after run' }
      // `sluice events` reads one engine: in a log of several it would understand only the records of the
      // first.
      const codex = (size: number) => engineLines('codex', size)
      const one = await scene(files, codex, bytes, [[sluiceEvents(files), 2]])
      yield { ...one, name: 'codex, run after run' }
      // Most bytes of real logs are in a few long lines; here what is done for each record shows.
      const brief = (size: number) => codex(size).filter(({ length }) => length < SHORT)
      const short = [
        [sluiceEvents(files), 1],
        [sluiceValues(files), 1.5],
      ] as const
      const many = await scene(files, brief, Math.min(bytes, SHORT_LOG), short)
      yield { ...many, name: 'codex, records under 2 KB' }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** A short log whose answers are checked, and a long one of the same lines that is timed. */
interface Files {
  readonly checked: string
  readonly timed: string
}

/** So much is made; a longer log is the same again. */
const BLOCK = 64 << 20
const SHORT = 2 << 10
/** About 340,000 short records. */
const SHORT_LOG = 40 << 20

async function scene(
  files: Files,
  grow: (bytes: number) => Buffer[],
  bytes: number,
  goals: readonly (readonly [ours: Program, atLeast: number])[],
): Promise<Omit<Scene, 'name'>> {
  const lines = grow(1)
  writeFileSync(files.checked, logOf(lines))
  const block = logOf(grow(Math.min(bytes, BLOCK)))
  const times = Math.round(bytes / block.length)
  writeFileSync(files.timed, '')
  for (let time = 0; time < times; time++) appendFileSync(files.timed, block)
  const answers = {
    records: await answerTo(recordsOf(lines)),
    ends: await answerTo(endsOf(lines)),
    count: await answerTo([lines.filter((line) => line.includes('type')).length]),
  }
  const programs = [...goals.map(([ours]) => ours), jq(files), readline(files), grep(files)]
  return {
    bytes: times * block.length,
    expected: answers.records,
    candidates: programs.map(({ finds, ...candidate }) => ({ ...candidate, expected: answers[finds] })),
    goals: goals.map(([{ name }, atLeast]) => ({ ours: name, against: JQ, atLeast })),
    clock: 'wall',
    maxRounds: 2,
  }
}

interface Program extends Candidate {
  readonly finds: 'records' | 'ends' | 'count'
}

function sluiceValues(files: Files): Program {
  return {
    name: 'sluice values --lines',
    role: 'ours',
    finds: 'records',
    ...command(files, process.execPath, [SLUICE, 'values', '--lines'], (line, visit) => {
      const outcome = JSON.parse(line)
      if (outcome.ok) visit(outcome.value)
    }),
  }
}

function sluiceEvents(files: Files): Program {
  const reached = endsReached()
  return {
    name: 'sluice events',
    role: 'ours',
    finds: 'ends',
    ...command(files, process.execPath, [SLUICE, 'events'], (line, visit) =>
      reached(JSON.parse(line), visit),
    ),
  }
}

const SLUICE = 'dist/cli/main.js'

function jq(files: Files): Program {
  return { name: JQ, role: 'peer', finds: 'records', ...command(files, 'jq', ['-c', '.'], parsed) }
}

/** What you write by hand; it prints what jq prints. */
function readline(files: Files): Program {
  const script = `require('node:readline')
    .createInterface({ input: require('node:fs').createReadStream(process.argv[1]) })
    .on('line', (line) => console.log(JSON.stringify(JSON.parse(line))))`
  return {
    name: 'node + readline + JSON.parse',
    role: 'peer',
    finds: 'records',
    ...command(files, process.execPath, ['-e', script], parsed),
  }
}

/**
 * It only finds lines. Its output is read, because grep stops at the first one when it sees that it writes to
 * /dev/null.
 */
function grep(files: Files): Program {
  const args = ['-c', 'type']
  const { skipped, run } = command(files, 'grep', args, parsed)
  return {
    name: 'grep -c type',
    role: 'limit',
    finds: 'count',
    run,
    timed: async () => {
      await output('grep', [...args, files.timed], () => {})
    },
    ...(skipped !== undefined && { skipped }),
  }
}

function parsed(line: string, visit: Visit): void {
  visit(JSON.parse(line))
}

/** A program with the path of a log as its last argument. */
function command(
  { checked, timed }: Files,
  name: string,
  args: readonly string[],
  read: (line: string, visit: Visit) => void,
): Pick<Candidate, 'run' | 'timed' | 'skipped'> {
  // `sluice events` exits by how the run in the log ended, so the long log must only end like the short one.
  let code: number | undefined
  return {
    ...(spawnSync(name, ['--version']).error && { skipped: `${name} is not installed` }),
    async run(visit) {
      code = await output(name, [...args, checked], (line) => read(line, visit))
    },
    async timed() {
      const child = spawn(name, [...args, timed], { stdio: 'ignore' })
      const exit = await new Promise((resolve, reject) => child.on('error', reject).on('exit', resolve))
      if (exit !== code) throw new Error(`${name} ${args.join(' ')} ended with ${exit}, not ${code}`)
    },
  }
}

/** Shows what a program prints, line by line, and gives its exit code. */
async function output(name: string, args: readonly string[], each: (line: string) => void): Promise<number> {
  const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  createInterface({ input: child.stdout }).on('line', each)
  const code = await exit
  if (code === null) throw new Error(`${name} was killed`)
  return code
}
