import { type Recorded, recordedRun } from './fixtures.ts'

/** The runs that every view is tested on: each engine, each type of record and each kind of end; and why. */
export const chosen: Readonly<Record<string, string>> = {
  'acp/copilot-http_500.pipe': 'a failure that its end hides',
  'acp/gemini-reject.loop': 'both halves of a wire: a request that is rejected',
  'amp/tool-ok.pipe': 'a call with an exit code',
  'claude/stream-json.drift': 'unknown fields, and a request that is tried again',
  'claude/stream-json.permission': 'a permission that is asked for',
  'claude/stream-json.subagent': 'words and calls of a subagent',
  'claude-session/odd-lines': 'records of unknown types',
  'claude-session/subagent': 'a payload, durations, and outputs that are lists',
  'cline/sigint_tool.pipe': 'a call that never ends',
  'cline-session/3.0.65-sigint_tool': 'a failed call with a list as its output',
  'codex/0.142-max_tokens.pipe': 'an answer that was cut by a limit of tokens',
  'codex/03h-interleave.tee80': 'calls that overlap, on pipes and PTY',
  'codex/app-server-file_write.pipe': 'pieces of messages, a new file with its diff, stderr',
  'codex/app-server-question.loop': 'a question with its answer',
  'codex/app-server-subagent.loop': 'pieces and tokens of a subagent',
  'codex-session/0.142.3-file_edit': 'a changed file, and raw lines that were cut',
  'continue/done.json-tee80': 'the done marker',
  'copilot/reasoning.pipe': 'pieces of a thought',
  'copilot/sigterm.tee80': 'a signal in the middle of a message',
  'copilot-session/1.0.102-http_500': 'a failure in a session file',
  'cursor/files.pipe': 'files created, changed and deleted',
  'cursor/tool-fail.pipe': 'failed calls with errors, exit codes and durations',
  'droid/results-without-id.pipe': 'results that name no call',
  'gemini/plain.json-pty80': 'one document on a terminal',
  'gemini/xml_json.text-pipe': 'a payload in plain text',
  'gemini-session/0.61.0-cut_mid': 'a turn that was taken back',
  'grok/tool-fail.pipe': 'a failed call, and no end',
  'iflow/broken-info.pipe': 'a block of facts that cannot be read',
  'iflow/tool-error.pipe': 'plain text with a block of facts behind it',
  'kilo/http_401.pipe': 'a failure before the first word',
  'nanocoder/cut.json-pipe': 'output that was cut',
  'opencode/02-reasoning.pipe': 'thoughts',
  'opencode/1.1.53-20-permission-deny.pipe': 'a call that was denied',
  'opencode-session/1.18.34-sigkill_tool': 'a log that stops in a call',
  'pi/0.73-sigint.pipe': 'an incomplete message',
  'pi/1.5.0-edit.pipe': 'pieces of inputs',
  'pi-session/0.73.1-reasoning': 'thoughts in a session file',
  'qwen/0.15.10-sigint_tool.stream-json-pipe': 'a call that was cancelled',
  'qwen-session/0.15.10-sigint_tool': 'an interrupted session',
  'text/codex-16-human-plain.pty80': 'a terminal alone',
}

export function chosenRuns(): readonly Recorded[] {
  return Object.keys(chosen).map(recordedRun)
}
