import type { Profile } from '../../events/profile.ts'
import { claudeSession } from './claude-session.ts'
import { codexSession } from './codex-session.ts'

/**
 * The session files that engines keep in the home directory, each a dialect of its engine that is read in place of
 * stdout. They tell other things than stdout: most of them no end.
 */
export const sessions = {
  'claude-session': claudeSession,
  'codex-session': codexSession,
} satisfies Record<string, Profile>
