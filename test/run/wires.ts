/** What agents said over a wire, for the stand-in that says it again. */
export const wires = new URL('wires/', import.meta.url).pathname

/** The engine of a recorded wire, and what the command line of its stand-in has; all others are ACP. */
export const wireEngines: Readonly<
  Record<string, readonly [engine: 'acp' | 'codex' | 'qwen', args: readonly string[]]>
> = {
  'codex-app-server': ['codex', ['app-server']],
  'qwen-stdio': ['qwen', ['--input-format', 'stream-json']],
  'codex-acp': ['acp', ['--skip', 'session/set_mode']],
}
