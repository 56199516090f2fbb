import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installInto } from './installed.ts'

// What a user gets from the registry.

let home = ''
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'sluice-package-'))
  installInto(home)
}, 600_000)
afterAll(() => rmSync(home, { recursive: true, force: true }))

const { exports: doors } = JSON.parse(readFileSync('package.json', 'utf8'))
const entries = Object.keys(doors)
  .filter((door) => !door.endsWith('.json') && door !== './web')
  .map((door) => join('agent-sluice', door))

/** Runs a small program in the project, and gives what it prints. */
function printed(name: string, code: string): string {
  writeFileSync(join(home, name), code)
  return execFileSync(process.execPath, [name], { cwd: home, encoding: 'utf8' }).trim()
}

describe('the entries', () => {
  test('have the same names for import and for require', () => {
    const print = (all: string) => `
      const namesOf = (all) => Object.keys(all).filter((name) => name !== 'default').sort()
      console.log(JSON.stringify([${all}].map(namesOf)))`
    const imported = printed('names.mjs', print(entries.map((entry) => `await import('${entry}')`).join()))
    const required = printed('names.cjs', print(entries.map((entry) => `require('${entry}')`).join()))
    const names: string[][] = JSON.parse(imported)
    expect(JSON.parse(required)).toEqual(names)
    expect(names.filter((each) => each.length === 0)).toEqual([])
    expect(names).toHaveLength(entries.length)
  })

  test('those of Node are one copy for require: a Fault of one is a Fault of all, and plain JSON Schemas work', () => {
    const code = `
      const [root, work, serve, nats] = ['', '/work', '/serve', '/nats'].map((name) => require('agent-sluice' + name))
      console.log([work, serve, nats].every(({ Fault }) => Fault === root.Fault))
      root.ask(() => '{"a":1}', { prompt: 'p', schema: { type: 'object', required: ['a'] } }).then(console.log)`
    expect(printed('one.cjs', code)).toBe('true\n{ a: 1 }')
  })

  test.each([
    ['import', 'mjs', "import { parse } from 'agent-sluice'"],
    ['require', 'cjs', "const { parse } = require('agent-sluice')"],
  ])('with %s, ajv is loaded with the first JSON Schema', (_, extension, door) => {
    const code = `${door}
      const { cache } = process.getBuiltinModule('module').createRequire(process.cwd() + '/')
      const loaded = () => Object.keys(cache).some((path) => path.includes('/ajv/'))
      parse('{"a":1}')
      console.log(loaded())
      parse('{"a":1}', { schema: { type: 'object', properties: { a: { format: 'int32' } } } })
      console.log(loaded())`
    expect(printed(`late.${extension}`, code)).toBe('false\ntrue')
  })

  test.each(['ask', 'run'])('%s of the root takes a plain JSON Schema', (name) => {
    const calls = {
      ask: `await ask(() => '{"a":1}', { prompt: 'p', schema })`,
      run: `(await run('echo', ['{"a":1}'], { schema, audit: 'audit-of-run' }).resume().end).result.value`,
    }
    const code = `
      import { ${name} } from 'agent-sluice'
      const schema = { type: 'object', required: ['a'] }
      console.log(${calls[name as keyof typeof calls]})`
    expect(printed(`schema-${name}.mjs`, code)).toBe('{ a: 1 }')
  })
})

describe('the tarball', () => {
  test('has the pages, and every file that they lead to or show', () => {
    const here = join(home, 'node_modules/agent-sluice')
    const docs = readdirSync(join(here, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) =>
      join('docs', name),
    )
    const pages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...docs].filter((path) => path.endsWith('.md'))
    const links = pages.flatMap((page) =>
      [
        ...readFileSync(join(here, page), 'utf8').matchAll(
          /\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)|<img src="([^":]+)"/g,
        ),
      ].map(([, path, picture]) => join(page, '..', path ?? picture!)),
    )
    expect(links.length).toBeGreaterThan(40)
    expect([...links, 'LICENSE'].filter((path) => !existsSync(join(here, path)))).toEqual([])
  })

  test.each([
    ['import', 'mjs', "import { parse } from 'agent-sluice'"],
    ['require', 'cjs', "const { parse } = require('agent-sluice')"],
  ])('with %s, a stack trace names the functions', (_, extension, door) => {
    const name = `trace.${extension}`
    writeFileSync(join(home, name), `${door}\nparse(undefined)\n`)
    const { stderr } = spawnSync(process.execPath, [name], { cwd: home, encoding: 'utf8' })
    expect(stderr).toMatch(/at misfit \(.*\n *at parsed? \(/)
  })

  test('has no source maps', () => {
    const dist = readdirSync(join(home, 'node_modules/agent-sluice/dist'), {
      recursive: true,
      encoding: 'utf8',
    })
    expect(dist.filter((name) => name.endsWith('.map'))).toEqual([])
  })
})
