import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { installInto } from './installed.ts'

// Projects that resolve types in another way than this one, with the packed package.

const entries = ['engines', 'events', 'json-schema', 'nats', 'serve', 'values', 'views', 'work']

/** A use of each entry, and a mistake that only real types can find. */
const program = `
import { run, type AgentEvent } from 'agent-sluice'
${entries.map((name, at) => `import * as entry${at} from 'agent-sluice/${name}'`).join('\n')}

export const show = (event: AgentEvent): string =>
  event.type === 'agent.reasoning.delta' ? event.data.text : String(event.seq)
export const all = [${entries.map((_, at) => `entry${at}`).join(', ')}]
// @ts-expect-error: a prompt is a text
run('codex', [], { prompt: 5 })
`

const resolutions = {
  node10: { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  node16: { module: 'node16', moduleResolution: 'node16' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
}

let home: string
const project = (name: string, compilerOptions: object): string => {
  const folder = join(home, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'index.ts'), program)
  const options = { target: 'es2022', strict: true, types: ['node'], noEmit: true, ...compilerOptions }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, include: ['index.ts'] }),
  )
  return folder
}
/** Runs a tool of the project. A tool that fails says why on stdout. */
const use = (folder: string, tool: string, ...args: string[]): string => {
  try {
    return execFileSync(process.execPath, [join(home, 'node_modules', tool), ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string } // cast: of execFileSync
    return `${stdout}${stderr}`
  }
}

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-types-'))
  installInto(home, ['tsup'])
}, 240_000)

test.each(Object.entries(resolutions))(
  'tsc finds the types of every entry with %s',
  (name, options) => {
    expect(use(project(name, options), 'typescript/bin/tsc')).toBe('')
  },
  60_000,
)

test('tsup finds them when it makes the types of a project', () => {
  const folder = project('tsup', { ...resolutions.node10, noEmit: false })
  const said = use(folder, 'tsup/dist/cli-default.js', 'index.ts', '--dts-only')
  expect(said).not.toMatch(/error/i)
  expect(readFileSync(join(folder, 'dist', 'index.d.ts'), 'utf8')).toContain('agent-sluice')
}, 120_000)
