// Compares the versions that were recorded, in the table of docs/engines.md, with the newest ones on the
// registry, and says what is new. It needs the network, so no test and no check runs it.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const [start, end] = ['<!-- versions -->', '<!-- /versions -->']

/** A CLI: its package, and the newest version that was recorded, if any was. */
interface Recorded {
  readonly cli: string
  readonly name: string
  readonly version: string | undefined
}

/** The rows of the table that have a package. */
export function recordedVersions(page: string): Recorded[] {
  const table = page.slice(page.indexOf(start), page.indexOf(end))
  return table.split('\n').flatMap((line) => {
    const [, cli, name, recorded = ''] = line.split('|').map((cell) => cell.trim())
    const [, plain] = /^`([^`]+)`/.exec(name ?? '') ?? []
    const versions = recorded.match(/\d+\.\d+(?:\.\d+)?(?= |,|$)/g) ?? []
    return cli && plain ? [{ cli, name: plain, version: versions.sort(byNumber).at(-1) }] : []
  })
}

/** What to say of a CLI whose newest version is this one. */
export function verdictOn({ cli, version }: Recorded, newest: string): string {
  if (version === undefined) return `${cli}: ${newest}, never recorded`
  if (byNumber(newest, version) <= 0) return `${cli}: ${version} is recorded`
  return `${cli}: ${newest} is NEW, ${version} is recorded`
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

async function newestOf(name: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['view', name, 'version'], { timeout: 60_000 })
  return stdout.trim()
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const recorded of recordedVersions(readFileSync('docs/engines.md', 'utf8'))) {
    const said = await newestOf(recorded.name).then(
      (newest) => verdictOn(recorded, newest),
      (error: Error) => `${recorded.cli}: the registry did not answer (${error.message.split('\n')[0]})`,
    )
    console.log(said)
  }
  console.log('Run a new one with sluice run, and tell us what sluice drift says of it.')
}
