// `npm pack` and `npm publish` run this before and after: the package carries no scripts, development
// packages or overrides of the repository. npm warns of a `prepare` script at each install, though it never
// runs there.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const manifest = 'package.json'
const cache = 'node_modules/.cache'
const original = `${cache}/agent-sluice-package.json`

// A pack that was interrupted has left the short one.
if (existsSync(original)) renameSync(original, manifest)
if (process.argv[2] !== '--restore') {
  const text = readFileSync(manifest, 'utf8')
  const { scripts, devDependencies, overrides, allowScripts, ...packed } = JSON.parse(text)
  mkdirSync(cache, { recursive: true })
  writeFileSync(original, text)
  writeFileSync(manifest, `${JSON.stringify(packed, null, 2)}\n`)
}
