import type { Engine } from '../events/engine.ts'
import * as all from './all-engines.ts'
import { sessions } from './sessions.ts'

/**
 * Every engine by its name: session files and those of `all-engines.ts`. Session files come first: their
 * shapes are narrow, and some of their lines are on stdout too.
 *
 * @example
 * events(engines.codex)
 */
// Not a spread: a bundler can drop an unused pure call, with every engine that it names.
export const engines: Readonly<Record<keyof typeof sessions | keyof typeof all, Engine>> =
  /* @__PURE__ */ Object.assign({}, sessions, all)
