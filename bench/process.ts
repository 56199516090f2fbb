import { execFileSync, fork } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'tsup'
import type { Task } from './child.ts'

/**
 * Builds the package if there is none, or only one that is older than its source, and the children of the
 * bench.
 */
export async function prepare(): Promise<void> {
  const built = 'dist/index.js'
  if (!existsSync(built) || statSync(built).mtimeMs < newest('src')) {
    process.stderr.write('building the package\n')
    execFileSync('npm', ['run', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  // Children run plain JavaScript: a loader for TypeScript would be in their memory and in their profile.
  await build({
    entry: ['bench/child.ts'],
    format: 'esm',
    outDir: 'bench/inputs/js',
    target: 'node20.19',
    skipNodeModulesBundle: true,
    config: false,
    silent: true,
    clean: true,
  })
}

function newest(folder: string): number {
  const names = readdirSync(folder, { recursive: true })
  return Math.max(...names.map((name) => statSync(join(folder, String(name))).mtimeMs))
}

/** Does one task in a process of its own. */
export function inChild<T>(task: Task): Promise<T> {
  return new Promise((resolve, reject) => {
    // Memory is measured as users have it, without a hand on the collector.
    const execArgv = task.kind === 'memory' ? [] : ['--expose-gc', ...profiling()]
    const child = fork('bench/inputs/js/child.js', [JSON.stringify(task)], { execArgv })
    let result: T | undefined
    child.on('message', (message) => {
      result = message as T
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0 && result !== undefined) resolve(result)
      else reject(new Error(`${JSON.stringify(task)} ended with ${code}`))
    })
  })
}

function profiling(): string[] {
  return process.env['BENCH_PROFILE'] ? ['--cpu-prof', '--cpu-prof-dir=bench/inputs/profiles'] : []
}
