import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/** The folder of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** A program on a page: what it takes for granted, what the test does after it, and what it must print. */
export interface PageExample {
  readonly before?: string
  readonly after?: string
  readonly prints: readonly RegExp[]
  /**
   * It is shown because it fails: what it must say on stderr. Without it, stderr is empty and the exit code
   * 0.
   */
  readonly fails?: RegExp
}

/** The code under `<!-- example: name -->` on a page. */
export function codeOf(page: string, name: string): string {
  const mark = `<!-- example: ${name} -->\n\`\`\`ts\n`
  const from = page.indexOf(mark)
  if (from < 0) throw new Error(`there is no example ${name} on the page`)
  return page.slice(from + mark.length, page.indexOf('\n```', from + mark.length) + 1)
}

/** The whole program of an example, which imports the package by its name. */
export function programOf(code: string, { before = '', after = '' }: Partial<PageExample>): string {
  // A program without imports would be a script, which cannot await.
  return `export {}\n${polyfill}\n${before}\n${code}\n${after}`
}

/**
 * Builds programs by name from the sources of the package, all at once: loading the sources again for each
 * one takes seconds. Each gets a folder of its own below `dir`.
 */
export function buildPrograms(dir: string, programs: Readonly<Record<string, string>>): void {
  // Other packages are found from there.
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  // What the package has beside its modules.
  const ajv = join(root, 'src/values/schema/load-ajv.cjs')
  copyFileSync(ajv, join(dir, 'load-ajv.cjs'))
  const files = Object.entries(programs).map(([name, program]) => {
    const file = join(dir, name, 'program.mts')
    mkdirSync(dirname(file))
    writeFileSync(file, program)
    copyFileSync(ajv, join(dirname(file), 'load-ajv.cjs'))
    return file
  })
  const { exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = Object.keys(entries).filter((entry) => !entry.endsWith('.json') && entry !== '.')
  const alias = Object.fromEntries([
    ...names.map((entry) => [`agent-sluice${entry.slice(1)}`, join(root, `src${entry.slice(1)}.ts`)]),
    ['agent-sluice', join(root, 'src/index.ts')],
  ])
  buildSync({
    entryPoints: files,
    ...{ outdir: dir, outbase: dir, outExtension: { '.js': '.mjs' } },
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20.19' },
    ...{ alias, packages: 'external', logLevel: 'error' },
    // The package loads ajv by `require`, from a file of its own that is a part of this bundle.
    banner: { js: "import { createRequire as of } from 'node:module'; const require = of(import.meta.url)" },
    // The list of side effects in package.json is that of the built files.
    ignoreAnnotations: true,
  })
}

/**
 * Runs a program that was built. Commands are looked up in its folder first, then in `dir`, where the
 * stand-ins for agents are.
 */
export function runProgram(dir: string, name: string) {
  const home = join(dir, name)
  return spawnSync(process.execPath, ['program.mjs'], {
    cwd: home,
    env: { ...process.env, PATH: [home, dir, process.env['PATH']].join(delimiter) },
    encoding: 'utf8',
    timeout: 60_000,
  })
}

/** Puts stand-ins for agents into `dir`: commands of their names that print a recorded run. */
export function standIns(dir: string): void {
  const answer = '<json>{"issues":[]}</json> no: <json>{"issues":[{"file":"b.ts","line":2}]}</json>'
  const shell = (name: string, line: string) =>
    writeFileSync(join(dir, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  shell('claude', `printf '%s' '${answer}'`)
  shell('codex', `cat '${root}fixtures/codex/07a-file-write.tee80/stdout.log'`)
  // They run the command here.
  shell('docker', `shift 3; exec "$@"`)
  shell('ssh', `shift; exec "$@"`)
  shell('opencode', `cat '${root}fixtures/opencode/01-plain.tee80/stdout.log'`)
}

/** A page of the repository. */
export function pageAt(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** Promise.withResolvers came with Node 22. */
const polyfill = `
  declare global { interface PromiseConstructor { withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } } }
  Promise.withResolvers ??= (() => { let resolve; const promise = new Promise((r) => { resolve = r }); return { promise, resolve } }) as never`
