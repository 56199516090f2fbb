import type { Engine } from '../../events/engine.ts'
import { first, isQwen, openDialect } from '../claude/claude.ts'

/** Qwen Code (`qwen -o stream-json | json | text`). The dialect is Claude Code's. */
export const qwen: Engine = {
  name: 'qwen',
  parser: 'qwen_ndjson',
  cut: { stdout: 'documents', pty: 'documents' },
  about: 'qwen -o stream-json (also with partials), json or text; 0.24',
  shape: (frame) => isQwen(first(frame)),
  open: openDialect,
}
