import type { Command } from 'commander'
import { ask } from '../../ask/ask.ts'
import type { AskAttempt, AskCall } from '../../ask/options.ts'
import { badOption, Fault, quote } from '../../base/fault.ts'
import { fileCache } from '../../disk/cache.ts'
import { handleSignals, killDependants } from '../../process/host-exit.ts'
import { spawnWithTask } from '../../process/process.ts'
import { tap } from '../../streams/tap.ts'
import type { ExitChunk } from '../../text/chunk.ts'
import type { Outcome } from '../../values/outcome.ts'
import type { CommandTable } from '../command-table.ts'
import { safe } from '../draw/safe.ts'
import { exits } from '../exit-codes.ts'
import { readPrompt, readSchema } from '../input/open-input.ts'
import { duration, wholeNumber } from '../input/option-values.ts'
import { flushed, harmless, output } from '../print.ts'

interface Flags {
  readonly promptFile?: string
  readonly schema?: string
  readonly tag?: string
  readonly root?: 'object' | 'any'
  readonly rounds: number
  readonly pick: 'first' | 'last'
  readonly timeout?: number
  readonly cache?: string
}

const help = `
The command is any program that reads a prompt on stdin and writes its answer to
stdout. It is started once for each try. If an answer does not pass, the next
try gets the prompt and what was wrong. The value goes to stdout as JSON,
messages go to stderr. A command whose exit code is not 0 has failed, whatever
it wrote, and is not tried again.

With --cache, an answer that passed is stored under its prompt, options, schema,
command, arguments and working directory. Anything else the command reads
(files, environment, its own settings) does not count.

Exit codes: 0 a value, 1 the command failed or was interrupted, 2 bad usage or a
command that cannot be started, 3 nothing valid, 7 the value cannot be written.

Examples:
  $ npx agent-sluice ask "List the issues as JSON." --schema s.json -- claude -p
  $ npx agent-sluice ask --prompt-file review.md --timeout 5m -- gemini
  $ git diff | npx agent-sluice ask --rounds 2 --cache .cache/answers -- llm
  $ npx agent-sluice ask "Name a colour as JSON." -- ollama run llama3`

/** `sluice ask`: a command as a model, asked until its answer parses. */
export default {
  about: 'Asks a command until its answer parses and passes the schema, and prints the value.',
  usage: '[options] [prompt] -- <command...>',
  args: [['[words...]', 'the prompt (default: stdin), then -- and the command with its arguments']],
  options: [
    ['--prompt-file <file>', 'read the prompt from a file; - is stdin'],
    ['--schema <file>', 'a JSON Schema that the value must pass'],
    ['--tag <name>', 'look only at blocks of this tag: json for <json>…</json>'],
    ['--root <kind>', 'what the value must be (default: any with a schema, else object)', ['object', 'any']],
    ['--rounds <count>', 'how many times to ask again when an answer does not pass', wholeNumber, 1],
    ['--pick <which>', 'which value to take if an answer has more than one', ['first', 'last'], 'first'],
    ['--timeout <time>', 'end a try after this time: 90s, 5m, 1h (default: no limit)', duration],
    ['--cache <dir>', 'store answers that passed in this directory, and reuse them'],
  ],
  help,
  act: (words: string[], flags: Flags, command: Command) => askAndPrint(divided(words, command), flags),
} satisfies CommandTable

interface Question {
  readonly prompt: string | undefined
  readonly command: string
  readonly args: readonly string[]
}

/** Splits the prompt from the command: commander drops the `--` between them. */
function divided(words: readonly string[], command: Command): Question {
  // Cast: commander keeps the raw arguments, but not in its types.
  const { rawArgs = [] } = (command.parent ?? command) as { readonly rawArgs?: readonly string[] }
  const at = rawArgs.indexOf('--')
  const following = at < 0 ? [] : rawArgs.slice(at + 1)
  const before = words.slice(0, words.length - following.length)
  const [program, ...args] = following
  if (program === undefined || program === '')
    throw badOption(
      'the command is missing; give it after --, as in sluice ask "List the issues." -- claude -p',
    )
  if (before.length > 1)
    throw badOption(`the prompt must be one argument, but there are ${before.length}; quote it`)
  return { prompt: before[0], command: program, args }
}

async function askAndPrint({ prompt: given, command, args }: Question, flags: Flags): Promise<number> {
  const { promptFile, schema: schemaFile, cache, timeout, ...reading } = flags
  if (given !== undefined && promptFile !== undefined)
    throw badOption('the prompt is given twice, as an argument and with --prompt-file; leave one of them out')
  const schema = await readSchema(schemaFile)
  const prompt = given ?? (await readPrompt(promptFile))
  if (prompt.trim() === '')
    throw badOption('the prompt is empty; give one as an argument, with --prompt-file or on stdin')
  const model = commandCall(command, args, timeout)
  const stop = new AbortController()
  // The first Ctrl-C ends the command and all its descendants, the second kills them.
  const release = handleSignals(() => {
    if (stop.signal.aborted) killDependants()
    stop.abort()
  })
  try {
    const value = await ask(model.call, {
      ...reading,
      prompt,
      schema,
      signal: stop.signal,
      onAttempt: (outcome, info) => tell(outcome, info, flags.rounds),
      ...(cache !== undefined && { cache: fileCache(cache), cacheKey: cacheKeyOf(command, args) }),
    })
    await output()(`${harmless(JSON.stringify(value))}\n`)
    return (await flushed()) ? exits.good : exits.output
  } catch (error) {
    if (stop.signal.aborted) {
      console.error('sluice: interrupted')
      return exits.failed
    }
    if (!Fault.is(error)) throw error
    const code = error.code === 'COMMAND_FAILED' ? exits.failed : error.attempts ? exits.nothing : undefined
    if (code === undefined) throw error
    console.error(`sluice: ${error.code}: ${error.message}`)
    const said = safe(model.stderr()).trim()
    if (said !== '') console.error(`sluice: the end of its stderr:\n${said}`)
    return code
  } finally {
    await model.ended()
    release()
  }
}

/** Represents the model in the cache key. */
function cacheKeyOf(command: string, args: readonly string[]): string {
  return JSON.stringify([process.cwd(), command, ...args])
}

function tell(outcome: Outcome<unknown>, { attempt, cached }: AskAttempt, rounds: number): void {
  if (cached) console.error('sluice: the answer is from the cache; the command was not started')
  if (!outcome.ok) {
    if (attempt <= rounds)
      console.error(
        `sluice: attempt ${attempt}: ${outcome.fault.code}: ${outcome.fault.message}; asking again`,
      )
    return
  }
  for (const { code, message } of outcome.notes) console.error(`sluice: ${code}: ${message}`)
}

/**
 * Makes a call for `ask` of any command that reads a prompt on stdin and writes its answer to stdout. Each
 * call is one process, in a group of its own. A command that cannot be started rejects with SPAWN_FAILED; one
 * that exits with another code than 0, by a signal, or not in `timeout` milliseconds, rejects with
 * COMMAND_FAILED, whatever it has written.
 */
function commandCall(command: string, args: readonly string[], timeout: number | undefined) {
  let closed: Promise<unknown> | undefined
  let said = Buffer.alloc(0)

  async function* answer(prompt: string, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted()
    const late = timeout === undefined ? undefined : AbortSignal.timeout(timeout)
    const output = tap(spawnWithTask(command, args, prompt), {
      kill: true,
      killGrace: KILL_GRACE,
      signal: AbortSignal.any([signal, late].filter((one) => one !== undefined)),
    })
    said = Buffer.alloc(0)
    closed = new Promise((resolve) => output.once('close', resolve))
    let how: string | undefined
    try {
      for await (const chunk of output) {
        if (chunk.channel === 'stdout') yield chunk.bytes
        else if (chunk.channel === 'exit') how = failureOf(chunk)
        else said = Buffer.concat([said, chunk.bytes.subarray(-MAX_STDERR)]).subarray(-MAX_STDERR)
      }
    } catch (error) {
      how = late?.aborted
        ? `gave no answer in ${timeout} ms`
        : signal?.aborted
          ? 'was interrupted'
          : undefined
      if (how === undefined) throw error
    }
    if (how !== undefined) throw new Fault('COMMAND_FAILED', `${quote(command, 120)} ${how}`)
  }

  return {
    call: (({ prompt, signal }) => answer(prompt, signal)) satisfies AskCall,
    /** The end of the last process's stderr, at most 2,000 bytes. */
    stderr: () => said.toString('utf8'),
    /** Resolves when no process is left. */
    ended: async () => closed,
  }
}

function failureOf({ code, signal }: ExitChunk): string | undefined {
  if (code === 0) return undefined
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`
}

const MAX_STDERR = 2000
/** Milliseconds between SIGTERM and SIGKILL. */
const KILL_GRACE = 2000
