import { isRecord, text } from '../events/profile.ts'

/** User lines that no user typed as a turn. */
const noTurn = [
  ...['<command-name>', '<command-message>', '<local-command-stdout>', '<local-command-stderr>'],
  ...['<bash-input>', '<bash-stdout>', '<bash-stderr>', '<task-notification>', '<system-reminder>'],
  ...['Caveat: ', 'Stop hook feedback:'],
]
const INTERRUPTED = '[Request interrupted by user'

/** What the content of a user line is: a prompt, the mark of an interrupt, or nothing that a user said. */
export function promptOf(content: unknown): { readonly prompt?: string; readonly interrupted?: true } {
  const words = textOf(content)
  if (words.startsWith(INTERRUPTED)) return { interrupted: true }
  const results =
    Array.isArray(content) && content.some((block) => isRecord(block) && block['type'] === 'tool_result')
  if (results || words === '' || noTurn.some((start) => words.startsWith(start))) return {}
  return { prompt: words }
}

/** The text of a message or a tool's result. */
export function textOf(content: unknown): string {
  if (!Array.isArray(content)) return text(content) ?? ''
  return content.flatMap((block) => (isRecord(block) && text(block['text'])) || []).join('\n')
}
