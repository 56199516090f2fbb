import type { Profile } from '../events/profile.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { iflow } from './iflow.ts'
import { opencode } from './opencode.ts'
import { qwen } from './qwen.ts'
import { text } from './text.ts'

/**
 * Every engine; a new one is one more line. `auto` asks them in this order.
 *
 * @example
 * events(engines[name])
 */
export const engines = { codex, opencode, gemini, qwen, claude, iflow, text } satisfies Record<
  string,
  Profile
>
