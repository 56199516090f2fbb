import { isProgramOption, programOf } from './command-line.ts'

/** What an agent never reports, so that no limit of it can hold. */
export type Blind = 'tokens' | 'cost' | 'toolCalls'

/** An agent as a command. Lists are words; `--name=a|b` is an option with one of these values. */
interface Program {
  /** Its name, and that of its package. */
  readonly names: string
  readonly engine: string
  /** One of these makes it work without a person. The first is the one to add. */
  readonly headless?: string
  /** One of these makes it print records. Without any, its text says neither session nor end. */
  readonly records?: string
  /** What to add for that. */
  readonly add?: string
}

const programs: readonly Program[] = [
  {
    names: 'claude @anthropic-ai/claude-code',
    engine: 'claude',
    headless: '-p --print',
    records: '--output-format=json|stream-json',
    add: '--output-format stream-json --verbose',
  },
  {
    names: 'codex @openai/codex',
    engine: 'codex',
    headless: 'exec e',
    records: '--json --experimental-json app-server mcp-server proto',
    add: '--json',
  },
  {
    names: 'gemini @google/gemini-cli',
    engine: 'gemini',
    records: '-o=json|stream-json --output-format=json|stream-json --acp --experimental-acp',
    add: '-o stream-json',
  },
  {
    names: 'qwen @qwen-code/qwen-code',
    engine: 'qwen',
    records: '-o=json|stream-json --output-format=json|stream-json --acp --experimental-acp',
    add: '-o stream-json',
  },
  {
    names: 'opencode opencode-ai',
    engine: 'opencode',
    headless: 'run',
    records: '--format=json acp serve',
    add: '--format json',
  },
  {
    names: 'kilo @kilocode/cli',
    engine: 'kilo',
    headless: 'run',
    records: '--format=json acp serve',
    add: '--format json',
  },
  {
    names: 'copilot @github/copilot',
    engine: 'copilot',
    headless: '-p --prompt',
    records: '--output-format=json --acp',
    add: '--output-format json',
  },
  {
    names: 'pi @earendil-works/pi-coding-agent @mariozechner/pi-coding-agent',
    engine: 'pi',
    records: '--mode=json|rpc',
    add: '--mode json',
  },
  { names: 'cline', engine: 'cline', records: '--json --acp', add: '--json' },
  {
    names: 'amp @sourcegraph/amp',
    engine: 'amp',
    headless: '-x --execute',
    records: '--stream-json',
    add: '--stream-json',
  },
  {
    names: 'cursor-agent',
    engine: 'cursor',
    headless: '-p --print',
    records: '--output-format=json|stream-json acp',
    add: '--output-format stream-json',
  },
  {
    names: 'droid',
    engine: 'droid',
    headless: 'exec',
    records: '--output-format=json|stream-json|acp -o=json|stream-json|acp',
    add: '--output-format stream-json',
  },
  {
    names: 'nanocoder @nanocollective/nanocoder',
    engine: 'nanocoder',
    headless: 'run',
    records: '--json --acp acp',
    add: '--json',
  },
  {
    names: 'cn @continuedev/cli',
    engine: 'continue',
    headless: '-p --print',
    records: '--format=json',
    add: '--format json',
  },
  { names: 'grok @vibe-kit/grok-cli', engine: 'grok' },
  { names: 'iflow @iflow-ai/iflow-cli', engine: 'iflow' },
]

const blind: Readonly<Record<string, readonly Blind[]>> = {
  codex: ['cost'],
  gemini: ['cost'],
  qwen: ['cost'],
  amp: ['cost'],
  copilot: ['cost'],
  nanocoder: ['cost'],
  cursor: ['cost'],
  droid: ['tokens', 'cost'],
  iflow: ['cost', 'toolCalls'],
  grok: ['tokens', 'cost'],
  continue: ['tokens', 'cost', 'toolCalls'],
  text: ['tokens', 'cost', 'toolCalls'],
}

/** What the agent of an engine never reports; nothing is known of an engine of one's own. */
export function blindTo(engine: string): readonly Blind[] {
  return Object.hasOwn(blind, engine) ? blind[engine]! : []
}

/** The engine of a command, if that speaks its records; undefined if it is no agent that is known. */
export function engineOfCommand(argv: readonly string[]): string | undefined {
  return known(argv)?.engine
}

/**
 * What a command of a known agent lacks to print records: it is started in its text mode. Undefined if it
 * lacks nothing, if it is no such agent, or if it has no task (`codex login`).
 *
 * @example
 * missingOptions(['claude', '-p', 'fix it']) // '--output-format stream-json --verbose'
 */
export function missingOptions(argv: readonly string[], prompted = false): string | undefined {
  const program = known(argv)
  if (program?.add === undefined || isOneOf(argv, program.records)) return undefined
  const { headless } = program
  const isHeadless = isOneOf(argv, headless)
  const hasTask =
    prompted || (headless !== undefined && isHeadless) || argv.some((word) => word.includes(' '))
  if (!hasTask) return undefined
  return headless === undefined || isHeadless ? program.add : `${headless.split(' ')[0]} ${program.add}`
}

function known(argv: readonly string[]): Program | undefined {
  const name = programOf(argv)
  return programs.find(({ names }) => names.split(' ').includes(name))
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
