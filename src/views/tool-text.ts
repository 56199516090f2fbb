import type { ToolData } from '../events/event.ts'

/** What a call gave back, as text: its output, else its error. Output that is no text is written as JSON. */
export function outputText({ output, error }: ToolData): string {
  if (output === undefined) return error ?? ''
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** Why a call failed, in a few words or all of its output; never empty. */
export function failureText(data: ToolData): string {
  const { error, exit_code } = data
  return error || outputText(data) || (exit_code === undefined ? 'failed' : `exit ${exit_code}`)
}
