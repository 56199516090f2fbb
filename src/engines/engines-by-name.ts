import type { Profile } from '../events/profile.ts'
import * as all from './all-engines.ts'
import { sessions } from './sessions/sessions.ts'

/**
 * Every engine by its name; what `all-engines.ts` exports is here. Session files come first: their shapes are narrow, and
 * some of their lines are on stdout too.
 *
 * @example
 * events(engines.codex)
 */
// Not spread: an unused call that is pure can be left out of a bundle, with every engine that it names.
export const engines: Readonly<Record<keyof typeof sessions | keyof typeof all, Profile>> =
  /* @__PURE__ */ Object.assign({}, sessions, all)
