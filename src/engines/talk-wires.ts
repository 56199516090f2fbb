import type { Engine, Picker } from '../events/engine.ts'
import type { Wire } from '../events/talk-wire.ts'
import { acpWire } from './acp/talk-wire.ts'
import { controlWire } from './claude/talk-wire.ts'
import { codexWire } from './codex/talk-wire.ts'

/** The wires of our engines, apart from them: who only reads what agents print has no use for these. */
const wires: Readonly<Record<string, Wire>> = {
  acp: acpWire,
  codex: codexWire,
  claude: /* @__PURE__ */ controlWire(false),
  qwen: /* @__PURE__ */ controlWire(true),
}

/** The wire of an engine, its own or ours. */
export function wireOf(engine: Engine | Picker): Wire | undefined {
  if ('wire' in engine) return engine.wire
  return Object.hasOwn(wires, engine.name) ? wires[engine.name] : undefined
}
