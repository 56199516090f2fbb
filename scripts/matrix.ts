// Runs the packed package in every runtime: 13 checks that must give the same values everywhere, every way to
// leave a real agent, the programs of test/consumer that are written for one runtime, and every recorded run
// as the AI SDK 7 reads it. Usage: npm run matrix -- [--only node20,node24] [--write] | --fetch workerd,bun
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { aiSdk6, aiSdk7, runsAi7 } from './matrix/ai-sdk.ts'
import { installedProject } from './matrix/installed-project.ts'
import { compilePrograms, programsFor, runProgram } from './matrix/programs.ts'
import { fetchRuntime, type Runtime, type RuntimeName, runtimes } from './matrix/runtimes.ts'

interface Report {
  readonly results: Readonly<Record<string, string>>
  readonly unhandled: readonly string[]
  readonly found?: Readonly<Record<string, unknown>>
}

interface Row {
  readonly label: string
  readonly cells: readonly string[]
  readonly trouble: readonly string[]
}

/**
 * What version 6 of the AI SDK makes of every recorded run, in this Node, and the program that has version 7,
 * or why there is none.
 */
let ai: Promise<{ readonly wanted: Report; readonly program: string | Error }> | undefined

const { values: flags } = parseArgs({
  options: { only: { type: 'string' }, fetch: { type: 'string' }, write: { type: 'boolean' } },
})

if (flags.fetch !== undefined) {
  for (const name of namesIn(flags.fetch)) {
    const got = await fetchRuntime(name).catch((error: Error) => error)
    console.log(got instanceof Error ? got.message : `${runtimes[name].label} is there`)
    if (got instanceof Error) process.exitCode = 1
  }
} else {
  const all = Object.keys(runtimes) as RuntimeName[]
  // The files of the programs are removed with it.
  const folder = mkdtempSync(join(tmpdir(), 'sluice-matrix-'))
  process.env['TMPDIR'] = folder
  try {
    const rows = await matrix(flags.only === undefined ? all : namesIn(flags.only), installedProject())
    const table = [
      '| Runtime | 13 checks, same values | Agents that were left | Programs of test/consumer | AI SDK 7, same messages as 6 |',
      '| --- | --- | --- | --- | --- |',
      ...rows.map(({ label, cells }) => `| ${[label, ...cells].join(' | ')} |`),
    ].join('\n')
    console.log(`\n${table}`)
    for (const { label, trouble } of rows) for (const line of trouble) console.log(`${label}: ${line}`)
    const failed = rows.filter(({ trouble }) => trouble.length > 0).length
    console.log(`\n${rows.length - failed} passed, ${failed} failed`)
    if (failed > 0 || rows.length === 0) process.exitCode = 1
    else if (flags.write && rows.length === all.length) write(table)
    else if (flags.write) console.log('not written: the table on the page has every runtime')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function matrix(names: readonly RuntimeName[], home: string): Promise<Row[]> {
  await compilePrograms(home)
  const smoke = join(home, 'matrix', 'smoke.js')
  const leaving = join(home, 'matrix', 'leaving.js')
  // The expected values: those of the Node that runs this.
  const wanted = await report(process.execPath, [smoke, resolve('fixtures')], home)
  const rows: Row[] = []
  for (const name of names) {
    const got = await fetchRuntime(name).catch((error: Error) => error)
    // A missing registry is not a failure of the package, so it is reported and not counted, unless the
    // runtime was asked for by name. The current Node always exists.
    if (got instanceof Error) console.log(got.message)
    const here = name === `node${process.versions.node.split('.')[0]}`
    if (got instanceof Error && !here) {
      if (flags.only !== undefined) process.exitCode = 1
      continue
    }
    const binary = got instanceof Error ? process.execPath : got
    const { args, ...runtime }: Runtime = runtimes[name]
    const label = got instanceof Error ? `Node ${process.versions.node}` : runtime.label
    const trouble: string[] = []
    const cells: string[] = []
    // Its events are compared log by log in test/streams/web-edge.slow.test.ts.
    if (name === 'workerd') cells.push('`/web` only', 'it starts no processes')
    else {
      const checked = await report(binary, [...args, smoke, resolve('fixtures')], home)
      cells.push(compared(checked, wanted, trouble))
      const agent = resolve('test/run/stubborn-agent.js')
      cells.push(left(await report(binary, [...args, leaving, process.execPath, agent], home), trouble))
    }
    cells.push(await programs(name, binary, home, trouble))
    cells.push(
      runsAi7(name) ? await messages(binary, home, trouble) : name === 'node20' ? 'it needs Node 22' : '',
    )
    console.log(`${label}: ${cells.join(', ')}`)
    rows.push({ label, cells, trouble })
  }
  return rows
}

/** The last line of a program's output. */
async function report(binary: string, args: readonly string[], cwd: string): Promise<Report> {
  try {
    const { stdout } = await promisify(execFile)(binary, [...args], {
      cwd,
      timeout: 240_000,
      killSignal: 'SIGKILL',
      maxBuffer: 2 ** 26,
    })
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  } catch (error) {
    return { results: { all: `failed: ${String(error).slice(0, 2000)}` }, unhandled: [] }
  }
}

function compared(one: Report, wanted: Report, trouble: string[]): string {
  const names = Object.keys(wanted.results)
  const skipped = names.filter((name) => one.results[name]?.startsWith('skipped'))
  const good = names.filter((name) => isHash(one.results[name]) && one.results[name] === wanted.results[name])
  for (const name of names.filter((name) => !good.includes(name) && !skipped.includes(name))) {
    const [found, expected] = [one, wanted].map((report) =>
      JSON.stringify(report.found?.[name])?.slice(0, 400),
    )
    const value = one.results[name]
    trouble.push(
      `${name}: ${isHash(value) ? `found ${found}, wanted ${expected}` : (value ?? one.results['all'])}`,
    )
  }
  trouble.push(...one.unhandled)
  const without = skipped.map((name) => `, ${name} ${one.results[name]}`).join('')
  return `${good.length} of ${names.length}${without}`
}

function left(one: Report, trouble: string[]): string {
  const all = Object.entries(one.results)
  const gone = all.filter(([, result]) => result === 'gone')
  for (const [name, result] of all) if (result !== 'gone') trouble.push(`leaving by ${name}: ${result}`)
  trouble.push(...one.unhandled)
  const quiet = one.unhandled.length === 0 ? 'nothing unhandled' : `${one.unhandled.length} unhandled`
  return `${gone.length} of ${all.length} ended, ${quiet}`
}

async function programs(name: RuntimeName, binary: string, home: string, trouble: string[]): Promise<string> {
  const all = programsFor(name)
  let good = 0
  for (const program of all) {
    const said = await runProgram(program, home, binary).catch(String)
    if (said === program.prints) good++
    else trouble.push(`${program.file} printed ${JSON.stringify(said).slice(0, 600)}`)
  }
  return `${good} of ${all.length}`
}

/**
 * Reads every recorded run with version 7 of the AI SDK. No registry is no fault of the package, so then it
 * is skipped.
 */
async function messages(binary: string, home: string, trouble: string[]): Promise<string> {
  ai ??= (async () => ({
    wanted: await report(process.execPath, [aiSdk6(home), resolve('fixtures')], home),
    program: await aiSdk7(home).catch((error: Error) => error),
  }))()
  const { wanted, program } = await ai
  if (program instanceof Error) {
    console.log(program.message)
    return 'skipped: no registry'
  }
  return compared(await report(binary, [program, resolve('fixtures')], home), wanted, trouble)
}

function isHash(value: string | undefined): boolean {
  return value !== undefined && /^[0-9a-f]{16}$/.test(value)
}

function namesIn(list: string): RuntimeName[] {
  return list.split(',').map((name) => {
    if (!(name in runtimes)) throw new Error(`${name} is none of ${Object.keys(runtimes).join(', ')}`)
    return name as RuntimeName
  })
}

/** Writes the table into the page, between its markers. */
function write(table: string): void {
  const page = join('docs', 'runtimes.md')
  const text = readFileSync(page, 'utf8')
  const [before, rest] = text.split('<!-- matrix:begin -->')
  const after = rest?.split('<!-- matrix:end -->')[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the matrix`)
  writeFileSync(page, `${before}<!-- matrix:begin -->\n${table}\n<!-- matrix:end -->${after}`)
}
