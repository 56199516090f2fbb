import type { Engine } from '../events/engine.ts'
import * as all from './all-engines.ts'
import { claudeSession } from './claude/session.ts'
import { clineSession } from './cline.ts'
import { codexSession } from './codex/session.ts'
import { copilotSession } from './copilot.ts'
import { geminiSession } from './gemini/session.ts'
import { opencodeSession } from './opencode.ts'
import { piSession } from './pi.ts'
import { qwenSession } from './qwen.ts'

/**
 * The session files that engines keep in the home directory, each a dialect of its engine that is read
 * instead of stdout. They contain other things than stdout: most of them have no end.
 */
export const sessions = {
  'claude-session': claudeSession,
  'codex-session': codexSession,
  'gemini-session': geminiSession,
  'qwen-session': qwenSession,
  'opencode-session': opencodeSession,
  'copilot-session': copilotSession,
  'pi-session': piSession,
  'cline-session': clineSession,
} satisfies Record<string, Engine>

/**
 * Every engine by its name, but for `auto`. `<name>-session` reads the session file that an agent keeps in
 * the home directory. Those come first: their shapes are narrow, and some of their lines are on stdout too.
 *
 * @example
 * events(engines.codex)
 */
// Not a spread: a bundler can drop an unused pure call, with every engine that it names.
export const engines = /* @__PURE__ */ named(sessions, all)

/** The names are in the type as words: a type that refers to the module cannot be bundled. */
function named<A extends Record<string, Engine>, B extends Record<string, Engine>>(
  some: A,
  others: B,
): Readonly<Record<(keyof A | keyof B) & string, Engine>> {
  return Object.assign({}, some, others)
}
