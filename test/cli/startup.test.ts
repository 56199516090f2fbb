import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

// import { a, b } from './x.ts', export * from './x.ts', import './x.ts', but no types
const imported = /^(?:import|export) (?:(?!type )(?:[\w*]+|\{[^}]*\})(?: as \w+)? from )?'([^']+)'/gm

/** Every module that is loaded before a command is chosen, by static imports from `file` on. */
function loaded(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(imported)) {
    if (path.startsWith('.')) loaded(join(dirname(file), path), found)
    else found.add(path)
  }
  return found
}

test('says its version without any package', () => {
  const modules = [...loaded('src/cli/main.ts')]
  expect(modules).toContain('src/cli/version.ts')
  expect(modules.filter((name) => !/^(src\/cli\/|src\/base\/|node:)/.test(name))).toEqual([])
  expect(modules.length).toBeLessThan(15)
})

test('lists its commands without engines, parsers, validators and the server', () => {
  const modules = [...loaded('src/cli/program.ts')]
  expect(modules.filter((name) => !/^(src\/cli\/|src\/base\/|node:)/.test(name))).toEqual(['commander'])
  expect(modules.length).toBeLessThan(20)
})

test('completes without the library that generates the scripts, and without engines', () => {
  const modules = [...loaded('src/cli/commands/completion.ts')]
  expect(modules.filter((name) => !/^(src\/cli\/|src\/base\/|node:)/.test(name))).toEqual([])
  expect(modules.length).toBeLessThan(12)
})

test('reads a log without what reads recorded runs and session files', () => {
  const modules = [...loaded('src/cli/commands/events.ts')]
  expect(modules).toContain('src/streams/events.ts')
  expect(modules.filter((name) => /replay|resume|meta|session-files|session-summary/.test(name))).toEqual([])
})
