import { auto } from '../../engines/auto.ts'
import { engines } from '../../engines/engines-by-name.ts'
import type { CommandTable } from '../command-table.ts'
import { output } from '../print.ts'

const help = `
Examples:
  $ npx agent-sluice engines
  $ npx agent-sluice engines --json | jq -r .name`

/** The agents that most people look for come first, and session files last. */
const FIRST = ['claude', 'codex', 'gemini', 'copilot', 'cursor', 'opencode', 'qwen', 'acp']

function inOrder() {
  const rank = (name: string) =>
    FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length + (name.endsWith('-session') ? 1 : 0)
  const named = Object.entries(engines).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
  return [...named, ['auto', auto] as const]
}

/** `sluice engines`: the engines and what they support. */
export default {
  about: 'Lists the supported agents: name, dialect, channels that are read, modes and versions.',
  options: [['--json', 'print NDJSON']],
  help,
  async act(flags: { readonly json?: boolean }) {
    const write = output()
    for (const [name, engine] of inOrder()) {
      const { parser, cut, about = '' } = engine
      const channels = (['stdout', 'stderr', 'pty'] as const).filter((channel) => cut[channel])
      const columns = [name.padEnd(16), parser.padEnd(16), channels.join('+').padEnd(17), about]
      const json = { name, parser, channels, about }
      if (!(await write(`${flags.json ? JSON.stringify(json) : columns.join('  ')}\n`))) break
    }
    return 0
  },
} satisfies CommandTable
