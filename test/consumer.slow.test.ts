import { beforeAll, describe, expect, test } from 'vitest'
import { installedProject } from '../scripts/matrix/installed-project.ts'
import { compilePrograms, missingFor, programs, runProgram } from '../scripts/matrix/programs.ts'

// Programs of people who have only the package and its docs, in a fresh project with the packed tarball.

describe('a program of test/consumer', () => {
  let home: string
  beforeAll(async () => {
    home = installedProject()
    await compilePrograms(home)
  }, 240_000)

  for (const program of programs) {
    const missing = missingFor(program)
    const name = `${program.file} compiles and runs${missing ? ` (skipped: ${missing})` : ''}`
    test.skipIf(missing)(name, async () => {
      expect(await runProgram(program, home)).toBe(program.prints)
    })
  }
})
