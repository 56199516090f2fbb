import type { Profile } from '../events/profile.ts'
import * as index from './index.ts'
import { sessions } from './sessions/sessions.ts'

/**
 * Every engine by its name; what `index.ts` exports is here. Session files come first: their shapes are narrow, and
 * some of their lines are on stdout too.
 *
 * @example
 * events(engines.codex)
 */
export const engines = { ...sessions, ...index } satisfies Record<string, Profile>
