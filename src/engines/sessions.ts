import type { Engine } from '../events/engine.ts'
import { claudeSession } from './claude/session.ts'
import { clineSession } from './cline/session.ts'
import { codexSession } from './codex/session.ts'
import { copilotSession } from './copilot/session.ts'
import { geminiSession } from './gemini/session.ts'
import { opencodeSession } from './opencode/session.ts'
import { piSession } from './pi/session.ts'
import { qwenSession } from './qwen/session.ts'

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
