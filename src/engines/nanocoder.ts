import { type Engine, type EngineFrame, isRecord, type Say, text } from '../events/engine.ts'
import type { Tokens } from '../events/tokens.ts'
import { prose } from './answer-text.ts'
import { tokenParts } from './token-parts.ts'

type Document = Record<string, unknown>

/** nanocoder (`nanocoder --json run`): one document at the end. Without `--json` stdout is the answer. */
export const nanocoder: Engine = {
  name: 'nanocoder',
  parser: 'nanocoder_json',
  cut: { stdout: 'documents', pty: 'documents' },
  about: 'nanocoder --plain --json run; 1.30',
  shape: ({ value }) => isDocument(value),
  open(limits) {
    const answer = prose(limits)
    let spoke = false
    return {
      read(frame, say) {
        if (spoke) return false
        const cut = isCut(frame)
        if (!cut && !isDocument(frame.value)) return answer.keep(frame, say)
        answer.giveBack(say)
        spoke = true
        if (!isDocument(frame.value)) return false
        readDocument(frame.value, say)
        return true
      },
      end: (say) => answer.speak(say),
    }
  },
}

function isDocument(value: unknown): value is Document {
  return (
    isRecord(value) &&
    typeof value['kind'] === 'string' &&
    typeof value['exitCode'] === 'number' &&
    'finalText' in value &&
    Array.isArray(value['toolCalls'])
  )
}

/** The document, cut off: half an answer is not an answer. */
function isCut({ open, text }: EngineFrame): boolean {
  return open === true && text.startsWith('{') && text.slice(1, 40).trimStart().startsWith('"kind"')
}

const EXIT = 'EXIT_CODE: '

function readDocument(document: Document, say: Say): void {
  say.fields(document, 'kind exitCode finalText reasoning toolCalls filesChanged usage error message')
  const thought = text(document['reasoning'])
  if (thought) say.reasoning(undefined, thought)
  const changed = new Map<string, 'created' | 'modified'>()
  const calls = Array.isArray(document['toolCalls']) ? document['toolCalls'].filter(isRecord) : []
  for (const [index, call] of calls.entries()) {
    const input = call['arguments']
    const path = isRecord(input) ? text(input['path']) : undefined
    // Neither calls nor messages have ids.
    if (!readCall(`call-${index + 1}`, call, say) || path === undefined) continue
    changed.set(path, call['name'] === 'write_file' ? 'created' : 'modified')
  }
  // It lists the files of failed calls, too.
  const files = Array.isArray(document['filesChanged']) ? document['filesChanged'] : []
  for (const path of files) {
    const change = changed.get(path)
    if (change !== undefined) say.artifact(change, path)
  }
  const words = text(document['finalText'])
  const { kind, exitCode } = document
  const failed = kind !== 'success' || exitCode !== 0
  if (words) say.message(undefined, words, { enveloped: true, incomplete: failed || undefined })
  const { usage } = document
  say.status('result', { reason: String(kind), usage, tokens: isRecord(usage) ? tokensIn(usage) : undefined })
  if (failed) say.error(text(document['error']) ?? text(document['message']) ?? String(kind), 'fatal')
  else say.ended('success')
}

function tokensIn({ inputTokens, outputTokens, totalTokens }: Document): Tokens | undefined {
  return tokenParts({ input: inputTokens, output: outputTokens, total: totalTokens })
}

/**
 * Reports a call; true if it succeeded. A failed command is recognizable only by the first line of its
 * output.
 */
function readCall(id: string, call: Document, say: Say): boolean {
  const name = text(call['name']) ?? 'tool'
  const { result, error } = call
  const output = name === 'execute_bash' ? (text(result) ?? '') : ''
  const code = output.startsWith(EXIT)
    ? Number.parseInt(output.slice(EXIT.length, EXIT.length + 4), 10)
    : Number.NaN
  const exit_code = Number.isNaN(code) ? undefined : code
  const ended = { id, name, input: call['arguments'], output: result ?? undefined, exit_code }
  if ((error !== null && error !== undefined) || (exit_code ?? 0) !== 0) {
    say.failed({ ...ended, error: text(error) })
    return false
  }
  say.completed(ended)
  return true
}
