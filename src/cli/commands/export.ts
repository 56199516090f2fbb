import fs from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { badOption, Fault, orElse, quote } from '../../base/fault.ts'
import { whyFailed } from '../../base/system-error-code.ts'
import { replaceFile } from '../../disk/durable.ts'
import { isDatabase, openCodeLines } from '../../run/opencode-db.ts'
import { fixedDir } from '../../run/run-directory.ts'
import {
  type ExportFormat,
  type ExportSource,
  exportSource,
  logOfBytes,
  recordedSource,
  runName,
  twice,
} from '../../serve/export.ts'
import type { HiddenSecrets } from '../../views/redact/redact.ts'
import { countWords } from '../../views/words.ts'
import type { CommandTable } from '../command-table.ts'
import { safe, safeLine } from '../draw/safe.ts'
import { exits } from '../exit-codes.ts'
import { engineOption } from '../input/engine-option.ts'
import { type LastFlags, lastOptions, namedOrLast } from '../input/last-option.ts'
import { oneMore } from '../input/option-values.ts'
import {
  type ReadingFlags,
  type RunFlags,
  reading,
  refuseSession,
  replayOptions,
  runEvents,
} from '../input/run-input.ts'
import { harmless, output } from '../print.ts'

interface Flags extends ReadingFlags, LastFlags, Pick<RunFlags, 'engine' | 'session' | 'runId'> {
  readonly to?: ExportFormat
  readonly out?: string
  readonly redact: boolean
  readonly hide?: readonly string[]
  readonly hideEnv?: readonly string[]
}

const help = `
Writes a run as one file to share:
  md    Markdown for an issue, at most 60,000 characters of it
  html  the page of sluice serve with the run inside: opens from disk, needs
        no server; with --no-redact it has the raw logs (up to 32 MiB of them)
  json  the events, and what is known of the run, as one JSON document

Keys, tokens and passwords are hidden ([redacted:github]) in the file, never in
the logs on disk; stderr says how many. Raw logs stay out of the file. Look at
the file before you publish it: what is secret only to you, such as a name,
cannot be known here. Hide it with --hide or --hide-env.

Exit code 0 if the file was written, however the run ended; 2 for bad usage, 7
if it could not be written.

Examples:
  $ npx agent-sluice export --last --out run.html
  $ npx agent-sluice export --last --to md | gh issue create -t "It fails" -F -
  $ npx agent-sluice export run.log --to json --hide-env DB_PASSWORD > run.json`

/** `sluice export`: a run as one file to share. */
export default {
  about: 'Writes a run as one file, Markdown, a page or JSON, with its secrets hidden.',
  args: [['[path]', 'the audit directory, or one log or session file (on a terminal: the newest run)']],
  options: [
    ...reading,
    ['--to <format>', 'what to write (default: by the name of --out)', ['md', 'html', 'json']],
    ['--out <file>', 'the file to write (default: stdout)'],
    ['--no-redact', 'do not hide secrets'],
    ['--hide <text>', 'hide this text, too; can be given again', oneMore],
    ['--hide-env <name>', 'hide the value of this environment variable; can be given again', oneMore],
    ...lastOptions('take'),
    engineOption(),
    ['--session <id>', 'the session to read if PATH is an OpenCode database (default: the newest)'],
    ['--run-id <id>', 'the id in every record'],
  ],
  help,
  act: exportTo,
} satisfies CommandTable

async function exportTo(path: string | undefined, flags: Flags): Promise<number> {
  const { redact, out } = flags
  const to = formatOf(flags)
  const terminal = out === undefined && process.stdout.isTTY === true
  if (terminal && to === 'html')
    throw badOption('a page is not for a terminal; give --out FILE, or write stdout to a file')
  const source = await sourceOf(path, flags)
  const exported = exportSource(source, { to, redact, hide: redact ? hiddenTexts(flags) : [] })
  if (out !== undefined) await writeFile(out, exported.text)
  else {
    const write = output()
    const shown = (text: string) => (terminal ? (to === 'md' ? safe(text) : harmless(text)) : text)
    for await (const text of exported.text) if (!(await write(shown(text)))) return exits.good
    if (to === 'json') await write('\n')
  }
  const hidden = exported.hidden()
  if (!hidden) console.error('sluice: secrets were not hidden')
  else console.error(`sluice: ${hiddenWords(hidden)}`)
  if (out !== undefined) console.error(`sluice: wrote ${safeLine(out)}`)
  return exits.good
}

function formatOf({ to, out = '' }: Flags): ExportFormat {
  const format = to ?? (['md', 'html', 'json'] as const).find((ending) => out.endsWith(`.${ending}`))
  if (format) return format
  throw badOption(
    'the format is missing; say what to write with --to md, html or json, or --out with such an ending',
  )
}

/** `hid 3 secrets (github 1, password 2)` */
function hiddenWords({ total, kinds: found }: HiddenSecrets): string {
  const kinds = Object.entries(found).map(([kind, count]) => `${kind} ${count}`)
  const of = kinds.length === 0 ? '' : ` (${kinds.join(', ')})`
  return `hid ${countWords(total, 'secret')}${of}; look at it before you publish it`
}

function hiddenTexts({ hide = [], hideEnv = [] }: Flags): string[] {
  const values = hideEnv.map((name) => {
    const value = process.env[name]
    if (value === undefined || value === '')
      throw badOption(`--hide-env: the environment has no ${quote(name)}; set it, or leave the option out`)
    return { value, what: `the value of ${quote(name)}` }
  })
  return [...values, ...hide.map((value) => ({ value, what: '--hide' }))].map(({ value, what }) => {
    if (value.length >= 4) return value
    throw badOption(`${what} has fewer than four characters: it would be hidden in half of all words`)
  })
}

/** The named run, and its logs. */
async function sourceOf(given: string | undefined, asked: Flags): Promise<ExportSource> {
  const { file, flags } = await namedOrLast(given, asked, '--last finds the run itself; leave out PATH')
  if (file === undefined)
    throw badOption('the path is missing; name an audit directory, a log or a session file, or give --last')
  const path = fixedDir(file)
  refuseSession(path, flags)
  if (!isDatabase(path)) return recordedSource(path, await replayOptions(flags))
  const lines = openCodeLines(path, flags.session)
  const events = await runEvents(path, flags)
  return {
    name: runName(path),
    events: twice(events, () => runEvents(path, flags)),
    attempts: [],
    logs: [logOfBytes(Buffer.from(lines.join('')))],
  }
}

/**
 * Written to a temporary file and then renamed: a failure leaves the old file unchanged. A device or a pipe
 * is written directly, because the rename would put a file in its place; so would it for a link.
 */
async function writeFile(named: string, text: AsyncIterable<string>): Promise<void> {
  // The native one, because the other makes a path that does not exist of /dev/stdout in a pipe.
  const out = orElse(() => fs.realpathSync.native(named), named)
  const draft = `${out}.${process.pid}.part`
  try {
    if (fs.statSync(out, { throwIfNoEntry: false })?.isFile() === false) {
      await pipeline(text, fs.createWriteStream(out))
      return
    }
    await pipeline(text, fs.createWriteStream(draft, { flags: 'wx' }))
    replaceFile(draft, out)
  } catch (error) {
    await fs.promises.rm(draft, { force: true }).catch(() => {})
    if (Fault.is(error)) throw error
    throw new Fault('OUTPUT_FAILED', `cannot write ${quote(named, 200)}: ${whyFailed(error)}`, {
      cause: error,
    })
  }
}
