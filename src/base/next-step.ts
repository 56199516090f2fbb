/**
 * What to do about a fault, for the console. Only for codes that are thrown or make an outcome fail; the message itself
 * says what was found.
 */
export const nextSteps: Readonly<Record<string, string>> = {
  BAD_OPTION: 'change the call; the message says what it takes',
  BAD_CHUNK: 'write Buffers, Uint8Arrays, strings or chunks of tap() to this stream',
  BAD_SCHEMA: 'give a Standard Schema that answers at once, or a JSON Schema object',
  EMPTY: 'look at stderr and at the exit of the agent: it printed nothing here',
  NO_MATCH: 'look at outcome.comment for what was said instead; check tag, lines and root',
  TRUNCATED: 'ask for a shorter answer or allow more tokens; partial: true shows what is there',
  INVALID_JSON: 'look at fault.broken for the place; ask() asks again by itself',
  ROOT_NOT_OBJECT: "give a schema, or root: 'any'",
  SCHEMA_FAILED: 'look at fault.errors; change the schema, or ask again with the errors',
  NORMALIZE_FAILED: 'look at the cause and at fault.value: a function in normalize threw',
  MAX_DEPTH: 'raise maxDepth if such a payload is wanted',
  PROTO_KEY: "protoKeys: 'remove' takes such keys out",
  JOURNAL_LOCKED: 'wait for the other process, or use another directory',
  JOURNAL_FAILED: 'make room, or use another directory; what was written is whole',
  JOURNAL_MISMATCH: 'use a fresh directory, or give the runId and attempt of this one',
  SSE_FIELD: 'take line ends and NUL out of run ids and event names',
  SPAWN_FAILED: 'check the command, PATH and cwd',
  PTY_MISSING: 'npm install @lydell/node-pty, and use Node or Deno; or run without pty',
  RECORD_FAILED: 'make room, or use another audit directory',
  NOT_AN_AUDIT: 'name a directory of sluice run, or a log file',
  OUTPUT_FAILED: 'make room, or write elsewhere; npx agent-sluice replay --resume completes the events',
  COMMAND_FAILED: 'run the command by hand and look at its stderr',
  BAD_ORDER: 'mend the order; the message names the field',
  OUTBOX_FAILED: 'look at the cause; the work is settled and can be delivered again',
  LEDGER_FAILED: 'look at the cause; nothing was changed',
  AUDIT_FAILED: 'make room, or use another audit directory',
}
