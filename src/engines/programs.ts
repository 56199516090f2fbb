import type { Engine, LastTurn, Picker } from '../events/engine.ts'
import type { Wire } from '../events/talk-wire.ts'
import { acpWire } from './acp/wire.ts'
import { ampProgram } from './amp.ts'
import { claudeProgram } from './claude/claude.ts'
import { clineProgram } from './cline.ts'
import { codexProgram } from './codex/codex.ts'
import { isProgramOption, nextTurn, type Program, programOf, taskIn } from './command-line.ts'
import { continueCliProgram } from './continue.ts'
import { copilotProgram } from './copilot.ts'
import { cursorProgram } from './cursor.ts'
import { droidProgram } from './droid.ts'
import { geminiProgram } from './gemini/gemini.ts'
import { grokProgram } from './grok.ts'
import { iflowProgram } from './iflow.ts'
import { nanocoderProgram } from './nanocoder.ts'
import { kiloProgram, opencodeProgram } from './opencode.ts'
import { piProgram } from './pi.ts'
import { qwenProgram } from './qwen.ts'

/** What an agent never reports, so that no limit of it can hold. */
export type Blind = 'tokens' | 'cost' | 'toolCalls'

/** By engine. */
const programs: Readonly<Record<string, Program>> = {
  claude: claudeProgram,
  codex: codexProgram,
  gemini: geminiProgram,
  qwen: qwenProgram,
  opencode: opencodeProgram,
  kilo: kiloProgram,
  copilot: copilotProgram,
  pi: piProgram,
  cline: clineProgram,
  amp: ampProgram,
  cursor: cursorProgram,
  droid: droidProgram,
  nanocoder: nanocoderProgram,
  continue: continueCliProgram,
  grok: grokProgram,
  iflow: iflowProgram,
  acp: { wire: acpWire },
  text: { blind: 'tokens cost toolCalls' },
}

/** What the agent of an engine never reports; nothing is known of an engine of one's own. */
export function blindTo(engine: string): readonly Blind[] {
  return (programOfEngine(engine)?.blind?.split(' ') ?? []) as readonly Blind[] // cast: our own words
}

function programOfEngine(engine: string): Program | undefined {
  return Object.hasOwn(programs, engine) ? programs[engine] : undefined
}

/** The wire of an engine, its own or ours. */
export function wireOf(engine: Engine | Picker): Wire | undefined {
  return 'wire' in engine ? engine.wire : programOfEngine(engine.name)?.wire
}

/** The task in a command line of the agent of an engine, if it is there. */
export function taskInCommand(engine: Engine | undefined, argv: readonly string[]): string | undefined {
  const command = engine && programOfEngine(engine.name)?.command
  return engine?.task ? engine.task(argv) : command && taskIn(argv, command)
}

/** What continues a session of the agent of an engine; undefined if nothing does. */
export function resumeOf(engine: Engine): Engine['resume'] {
  const command = programOfEngine(engine.name)?.command
  if (engine.resume) return (last) => engine.resume!(last)
  return command && ((last: LastTurn) => nextTurn(last, command))
}

/** The engine of a command, if that speaks its records; undefined if it is no agent that is known. */
export function engineOfCommand(argv: readonly string[]): string | undefined {
  const name = programOf(argv)
  return Object.keys(programs).find((engine) => programs[engine]!.names?.split(' ').includes(name))
}

/** Of a command of a known agent: the one that takes answers while it works, if it has one. */
export function talkingCommand(argv: readonly string[]): { readonly talks: string | undefined } | undefined {
  const engine = engineOfCommand(argv)
  return engine === undefined ? undefined : { talks: programs[engine]!.talks }
}

/**
 * What a command of a known agent lacks to print records: it is started in its text mode. Undefined if it
 * lacks nothing, if it is no such agent, or if it has no task (`codex login`).
 *
 * @example
 * missingOptions(['claude', '-p', 'fix it']) // '--output-format stream-json --verbose'
 */
export function missingOptions(argv: readonly string[], prompted = false): string | undefined {
  const engine = engineOfCommand(argv)
  const program = engine === undefined ? undefined : programs[engine]
  if (program?.add === undefined || isOneOf(argv, program.records)) return undefined
  const { headless } = program
  const isHeadless = isOneOf(argv, headless)
  const hasTask =
    prompted || (headless !== undefined && isHeadless) || argv.some((word) => word.includes(' '))
  if (!hasTask) return undefined
  return headless === undefined || isHeadless ? program.add : `${headless.split(' ')[0]} ${program.add}`
}

function isOneOf(argv: readonly string[], words = ''): boolean {
  return words.split(' ').some((word) => isProgramOption(argv, word))
}

/**
 * The engine of a command that talks, by its words: `--acp`, `acp` and `codex-acp` speak the Agent Client
 * Protocol. Undefined if none of them says so.
 *
 * @example
 * talkingEngine(['gemini', '--acp']) // 'acp'
 * talkingEngine(['codex', 'app-server']) // 'codex'
 */
export function talkingEngine(argv: readonly string[]): string | undefined {
  const name = programOf(argv)
  if (/(?:^|[/-])acp$/.test(name) || isOneOf(argv, '--acp --experimental-acp acp')) return 'acp'
  if (isOneOf(argv, 'app-server')) return 'codex'
  return isOneOf(argv, '--input-format=stream-json') ? (engineOfCommand(argv) ?? 'claude') : undefined
}
