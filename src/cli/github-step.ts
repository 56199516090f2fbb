import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { badOption, Fault, quote } from '../base/fault.ts'
import { whyFailed } from '../base/system-error-code.ts'
import type { AgentEvent } from '../events/event.ts'
import type { RunEnd } from '../run/run-options.ts'
import type { ReadableItems } from '../streams/flow.ts'
import { redact } from '../streams/views.ts'
import { cut, markdownWriter } from '../views/markdown/markdown.ts'
import { familyOf, isSecretValue } from '../views/redact/names.ts'
import { redactor } from '../views/redact/redact.ts'
import { whyOf } from '../views/why.ts'
import { safe } from './draw/safe.ts'
import { output } from './print.ts'

/** The files by which a step tells GitHub something; the agent does not get them. */
const FILES = ['GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY', 'GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_STATE'] as const

/**
 * GitHub refuses a summary of more than 1 MiB, and outputs of more than 1 MB. Characters of single outputs:
 * together they stay below that, whatever their script.
 */
const MAX_SUMMARY = 1 << 20
const MAX_OUTPUTS = 1_000_000
const MAX_ANSWER = 100_000
const MAX_RESULT = 150_000
const MAX_FILE_LIST = 40_000

export type GithubStep = ReturnType<typeof openGithubStep>

/**
 * A step of a GitHub workflow that runs an agent: its log, outputs, summary and annotations. Whatever the
 * agent writes stays text: commands to the runner (`::set-output`, `##[add-mask]`) are off while it is
 * shown, outputs have a delimiter that it cannot know, and secrets are hidden everywhere. Throws BAD_OPTION
 * unless this is a step of a workflow.
 */
export function openGithubStep(hidesSecrets: boolean, env: NodeJS.ProcessEnv = process.env) {
  const outputs = fileIn(env, 'GITHUB_OUTPUT')
  const summaries = fileIn(env, 'GITHUB_STEP_SUMMARY')
  const hide = hidesSecrets ? redactor({ known: secretsIn(env) }) : undefined
  const hidden = (text: string) => hide?.text(text, { count: false }) ?? text
  const markdown = markdownWriter({ brief: true })
  const reason = whyOf()
  const write = output()
  const token = randomBytes(16).toString('hex')
  let paused = false

  const resume = async () => {
    if (paused) await write(`::${token}::\n`)
    paused = false
  }
  return {
    /** The environment of the agent. */
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !FILES.some((file) => file === name))),
    /** A value without secrets. Cast: only its texts change. */
    hidden: <T>(value: T): T => (hide ? (hide.value(value) as T) : value),
    /** The events to show, without secrets. */
    async *watch(events: ReadableItems<AgentEvent>): AsyncGenerator<AgentEvent> {
      for await (const event of hide ? events.pipe(redact(hide)) : events) {
        markdown.write(event)
        reason.write(event)
        yield event
      }
    },
    /** Call it before anything of the agent is shown. */
    async begin() {
      paused = true
      await write(`::stop-commands::${token}\n`)
    },
    /** Writes outputs, summary and annotations. */
    async end(end: RunEnd, exitCode: number) {
      await resume()
      const why = reason.why()
      const { files, engine = 'agent' } = markdown.summary()
      // Redacted once more: only now all secrets are known.
      const text = hidden(markdown.text({ task: end.task ?? undefined, why }))
      append(summaries, `${text}\n`, MAX_SUMMARY)
      const problem = hidden(end.problem ?? '')
      const large = {
        answer: cut(hidden(end.text ?? ''), MAX_ANSWER),
        result: resultText(hide ? hide.value(end.result?.value) : end.result?.value),
        changed_files: hidden(files.join('\n')).slice(0, MAX_FILE_LIST),
      }
      for (const [name, value] of Object.entries({ ...smallOutputs(end, exitCode), problem, ...large }))
        if (value !== '') append(outputs, asOutput(name, value), MAX_OUTPUTS)
      if (end.ok) return
      const level = end.outcome === 'failed' || end.outcome === 'cancelled' ? 'error' : 'warning'
      const title = escaped(`${engine} run: ${end.outcome}`).replaceAll(':', '%3A').replaceAll(',', '%2C')
      await write(`::${level} title=${title}::${escaped(problem)}\n`)
    },
    /** Reports that the run could not be started or recorded. */
    async fail(error: unknown) {
      const message = error instanceof Error ? error.message : String(error)
      // A log that cannot be written is the error that is reported.
      await resume().catch(() => {})
      await write(`::error title=sluice::${escaped(hidden(message))}\n`).catch(() => {})
    },
  }
}

function fileIn(env: NodeJS.ProcessEnv, name: (typeof FILES)[number]): string {
  const path = env[name]
  try {
    if (path) fs.accessSync(path, fs.constants.W_OK)
  } catch (cause) {
    const what = `--github cannot write the file of ${name}: ${whyFailed(cause)}`
    throw badOption(`${what}; in a container, mount it`, { cause })
  }
  if (path) return path
  throw badOption(`--github needs ${name}, which GitHub Actions sets; leave it out elsewhere`)
}

/** Shorter values of variables are words that occur everywhere: `DB_PASSWORD=postgres` is a common one. */
const MIN_SECRET = 10

/** The values of variables whose names say that they are secret. */
function secretsIn(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value = '']) => {
    const family = value.length < MIN_SECRET ? undefined : familyOf(name)
    return family && isSecretValue(value, { family, quoted: true, sure: 'any' }) ? [value] : []
  })
}

/** Appends a whole text or nothing: a file over its limit is refused as a whole. */
function append(path: string, text: string, limit: number): void {
  try {
    const { size } = fs.statSync(path)
    // What was written before may lack its line end.
    const bytes = Buffer.from(size > 0 ? `\n${text}` : text)
    if (size + bytes.length <= limit) fs.appendFileSync(path, bytes)
    else console.error(`sluice: ${quote(text, 20)} was left out: GitHub takes no more in one step`)
  } catch (cause) {
    throw new Fault('OUTPUT_FAILED', `cannot write ${quote(path, 200)}: ${whyFailed(cause)}`, { cause })
  }
}

/** The delimiter is made after the agent has ended: with a known one, an answer could add outputs. */
function asOutput(name: string, value: string): string {
  const delimiter = `sluice_${randomBytes(16).toString('hex')}`
  return `${name}<<${delimiter}\n${value}\n${delimiter}\n`
}

function smallOutputs(end: RunEnd, exitCode: number): Readonly<Record<string, string>> {
  const { ok, outcome, failureClass: failure_class, session, runId: run_id, audit, cost, tokens } = end
  const all = { ok, outcome, exit_code: exitCode, failure_class, session, run_id, audit }
  const spent = { cost: cost?.amount, input_tokens: tokens?.input, output_tokens: tokens?.output }
  return Object.fromEntries(
    Object.entries({ ...all, ...spent }).map(([name, value]) => [name, String(value ?? '')]),
  )
}

/** A result that is cut is no JSON, so one that is too long is left out. */
function resultText(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length <= MAX_RESULT ? text : ''
}

/** The message of a workflow command. */
function escaped(message: string): string {
  return safe(message).replaceAll('%', '%25').replaceAll('\n', '%0A')
}
