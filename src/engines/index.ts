import { codex } from './codex.ts'
import { opencode } from './opencode.ts'

/** Every engine; a new one is one more line. `auto` asks them in this order. */
export const engines = { codex, opencode }
