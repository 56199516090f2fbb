// Writes docs/api, from the declarations in src: npm run api. With --check it writes nothing, and fails if a
// file is out of date, or if the public surface changed without a line of CHANGELOG.md.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv, exit } from 'node:process'
import { orElse } from '../src/base/fault.ts'
import { apiPages } from './api-pages.ts'
import { publicProgram, root } from './public-api.ts'
import { SURFACE, surfaceFaults, surfaceText } from './surface.ts'

const folder = join(root, 'docs/api')
const program = publicProgram()
const pages = apiPages(program)
const surface = surfaceText(program)
if (argv.includes('--check')) {
  const isOld = ([name, text]: readonly [string, string]) =>
    orElse(() => readFileSync(join(folder, name), 'utf8'), '') !== text
  const old = [...pages].filter(isOld).map(([name]) => `docs/api/${name} is out of date; run npm run api`)
  const faults = [...surfaceFaults(surface), ...old]
  for (const fault of faults) console.error(fault)
  exit(faults.length > 0 ? 1 : 0)
}
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
for (const [name, text] of pages) writeFileSync(join(folder, name), text)
writeFileSync(join(root, SURFACE), surface)
