import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromiumPath, launch } from '../../test/serve/browser.ts'
import { startWorker } from './edge.ts'
import { fetched, type Runtime, type RuntimeName, runtimes } from './runtimes.ts'

/** A small program that uses the package (test/consumer), where it runs, and what it prints. */
export interface ConsumerProgram {
  readonly file: string
  readonly where: 'node' | 'browser' | 'workerd' | 'bun' | 'deno'
  readonly bundle?: 'esm' | 'cjs'
  readonly prints: string
}

const types = ['conversation.started', 'assistant.message.final', 'user.input.required', 'conversation.ended']
const conversation = ['conversation.started', 'Fixed.', 'user.input.required', 'conversation.ended']

const table: readonly (Omit<ConsumerProgram, 'prints'> & { readonly prints: readonly string[] })[] = [
  {
    file: 'strict.ts',
    where: 'node',
    prints: ['Fixed.', 'END_SIGNAL', 'succeeded cart.ts 3.0 10', 'SPAWN_FAILED', '1', '2', '3'],
  },
  {
    file: 'plain.cjs',
    where: 'node',
    prints: ['true BAD_OPTION', 'true { a: 1 }', 'false SCHEMA_FAILED /a', '{ a: 1 }', '{ a: 2 }'],
  },
  {
    file: 'typed.cts',
    where: 'node',
    prints: ['a.ts', 'SCHEMA_FAILED', 'conversation.started', 'user.input.required', 'conversation.ended'],
  },
  {
    file: 'bundled-esm.ts',
    where: 'node',
    bundle: 'esm',
    prints: ["{ at: '2026-01-01T00:00:00Z' }", 'must match format "date-time", found "tomorrow"'],
  },
  ...(['esm', 'cjs'] as const).map((bundle) => ({
    file: 'bundled-alone.ts',
    where: 'node' as const,
    bundle,
    prints: [
      'function true',
      "this bundle has no ajv, which checks JSON Schemas: add import 'agent-sluice/json-schema' to the program",
    ],
  })),
  { file: 'bundled-cjs.ts', where: 'node', bundle: 'cjs', prints: ['2', '2'] },
  {
    file: 'http.ts',
    where: 'node',
    prints: [
      'event: conversation.started',
      'event: assistant.message.final',
      'event: user.input.required',
      'event: conversation.ended',
      'we left',
      'the client left, and the agent is gone',
    ],
  },
  {
    file: 'ask.ts',
    where: 'node',
    prints: [
      'true NO SHELL 2',
      '2',
      'false {"safe":false}',
      'false {"safe":false,"why":"it deletes"}',
      'true {"safe":false,"why":"it deletes"}',
      'NO_MATCH 1',
    ],
  },
  {
    file: 'engine.ts',
    where: 'node',
    prints: [
      'toy agent.message.final',
      'toy lifecycle.run.status',
      'toy lifecycle.run.status',
      'toy lifecycle.completion.state',
      'finished true',
      '39',
      '14',
    ],
  },
  {
    file: 'serve.ts',
    where: 'node',
    prints: [
      'one codex finished',
      ...types.map((type) => `event: ${type}`),
      '404 the path must begin with one slash; the url of serve() ends with one already',
    ],
  },
  {
    file: 'terminal.ts',
    where: 'node',
    prints: ['4 4 finished', 'Fixed. stdout', '## codex run: finished'],
  },
  { file: 'mine.ts', where: 'node', prints: ['10 991 0', 'NO_MATCH', '4.0', 'must be even, found 5'] },
  { file: 'browser.ts', where: 'browser', prints: [...conversation, '4 records'] },
  { file: 'edge.ts', where: 'workerd', prints: [...types, '["cart.ts"]', 'BAD_OPTION'] },
  { file: 'bun.ts', where: 'bun', prints: ['Fixed.', '0', 'enough', 'string'] },
  { file: 'deno.ts', where: 'deno', prints: ['4', 'Fixed.', 'finished'] },
]

export const programs: readonly ConsumerProgram[] = table.map((program) => ({
  ...program,
  prints: program.prints.map((line) => `${line}\n`).join(''),
}))

/** The programs for a runtime. */
export function programsFor(name: RuntimeName): ConsumerProgram[] {
  const where = name.startsWith('node') ? 'node' : name
  return programs.filter((program) => program.where === where)
}

/** What this machine lacks to run it, or undefined. */
export function missingFor({ where }: ConsumerProgram): string | undefined {
  if (where === 'node') return undefined
  if (where === 'browser') return chromiumPath ? undefined : 'no Chromium'
  return fetched(where) ? undefined : `no ${where}; npm run matrix -- --fetch ${where}`
}

const exec = promisify(execFile)

/** Compiles and bundles all programs in a project, as its owner would. Rejects with the compiler's output. */
export async function compilePrograms(home: string): Promise<void> {
  cpSync('test/consumer', home, { recursive: true })
  const run = async (file: string, args: readonly string[]) => {
    const { stdout } = await exec(file, [...args], { cwd: home }).catch((error) => {
      throw new Error(`${args.join(' ')}: ${error.stdout}${error.stderr}`)
    })
    return stdout
  }
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
  await run(process.execPath, [tsc, '-p', 'tsconfig.json'])
  await run(process.execPath, [tsc, '-p', 'tsconfig.web.json'])
  await run(process.execPath, [tsc, '-p', 'tsconfig.dom.json'])
  const esbuild = join('node_modules', 'esbuild', 'bin', 'esbuild')
  for (const { file, where, bundle } of programs) {
    const web = where === 'browser' || where === 'workerd'
    if (!bundle && !web) continue
    const platform = bundle ? ['--platform=node', '--external:@lydell/node-pty'] : ['--platform=browser']
    const format = `--format=${bundle ?? 'esm'}`
    await run(esbuild, [file, '--bundle', format, ...platform, `--outfile=bundles/${bundled(file, bundle)}`])
  }
}

/** Runs a compiled program and returns its output. `node` is the binary for those that run in Node. */
export async function runProgram(
  program: ConsumerProgram,
  home: string,
  node: string = process.execPath,
): Promise<string> {
  const { file, where, bundle } = program
  if (where === 'browser') return inBrowser(join(home, 'bundles', bundled(file)), home)
  if (where === 'workerd') return onEdge(join(home, 'bundles', bundled(file)), home)
  // Every run has its own folder: programs write an audit, a cache. A bundle has no node_modules in any
  // parent.
  const cwd = mkdtempSync(join(bundle ? tmpdir() : home, 'cwd-'))
  cpSync(join(home, 'agent.sh'), join(cwd, 'agent.sh'))
  const started = bundle
    ? join(cwd, bundled(file, bundle))
    : join(home, where === 'node' ? compiled(file) : file)
  if (bundle) cpSync(join(home, 'bundles', bundled(file, bundle)), started)
  const { args }: Runtime = where === 'node' ? runtimes.node20 : runtimes[where]
  const binary = where === 'node' ? node : fetched(where)!
  const { stdout } = await exec(binary, [...args, started], { cwd, timeout: 120_000, killSignal: 'SIGKILL' })
  return stdout
}

const compiled = (file: string) => file.replace(/ts$/, 'js')
const bundled = (file: string, bundle: 'esm' | 'cjs' = 'esm') =>
  file.replace(/ts$/, bundle === 'esm' ? 'mjs' : 'cjs')

async function inBrowser(script: string, home: string): Promise<string> {
  const log = await agentLog(home)
  const server = createServer((request, response) => {
    const isScript = request.url === '/program.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    if (request.url === '/run.log') response.end(log)
    else if (isScript) response.end(readFileSync(script))
    else response.end('<!doctype html><script type="module" src="/program.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const browser = await launch()
  try {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    await page.waitForFunction('globalThis.said')
    return `${await page.evaluate('said')}\n`
  } finally {
    await browser.close()
    server.close()
  }
}

async function onEdge(script: string, home: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'edge-'))
  cpSync(script, join(folder, 'worker.mjs'))
  const worker = await startWorker(fetched('workerd')!, folder, ['worker.mjs'])
  const body = await agentLog(home)
  const ask = async (path: string, body: string) =>
    (await fetch(new URL(path, worker.url), { method: 'POST', body })).text()
  try {
    const types = await ask('/', body)
    const report = await ask('/report', '<json>{"issues": [{"file": "cart.ts"}]}</json>')
    return `${types}${report}\n${await ask('/plain', body)}\n`
  } finally {
    await worker.close()
  }
}

async function agentLog(home: string): Promise<string> {
  return (await exec('sh', [join(home, 'agent.sh')])).stdout
}
