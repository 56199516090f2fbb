import { isRecord, text } from '../../events/engine.ts'

/** Beginnings of user lines, and blocks of them, that the user did not type. */
const notTyped = [
  ...['<command-name>', '<command-message>', '<local-command-stdout>', '<local-command-stderr>'],
  ...['<bash-input>', '<bash-stdout>', '<bash-stderr>', '<task-notification>', '<system-reminder>'],
  ...['Caveat: ', 'Stop hook feedback:'],
  'This session is being continued from a previous conversation that ran out of context.',
]
const INTERRUPTED = '[Request interrupted by user'

/** The content of a user line: a prompt, the mark of an interrupt, or nothing that the user said. */
export function promptOf(content: unknown): { readonly prompt?: string; readonly interrupted?: true } {
  // A reminder of the engine can be in a block before or after the user's own words.
  const said = textsOf(content).filter((words) => !notTyped.some((start) => words.startsWith(start)))
  const prompt = said.join('\n')
  if (prompt.startsWith(INTERRUPTED)) return { interrupted: true }
  const results =
    Array.isArray(content) && content.some((block) => isRecord(block) && block['type'] === 'tool_result')
  return results || prompt === '' ? {} : { prompt }
}

/** The text of a message or a tool's result. */
export function textOf(content: unknown): string {
  return textsOf(content).join('\n')
}

function textsOf(content: unknown): string[] {
  if (!Array.isArray(content)) return [text(content) ?? '']
  return content.flatMap((block) => (isRecord(block) && text(block['text'])) || [])
}
