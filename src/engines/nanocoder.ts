import { type Engine, type EngineFrame, isLenient, type Say } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { AnswerText } from './answer-text.ts'
import { usualDenial } from './calls.ts'
import type { Program } from './command-line.ts'
import { tokensAt } from './token-parts.ts'

export const nanocoderProgram: Program = {
  names: 'nanocoder @nanocollective/nanocoder',
  headless: 'run',
  records: '--json --acp acp',
  add: '--json',
  blind: 'cost',
}

/** nanocoder (`nanocoder --json run`): one document at the end. Without `--json` stdout is the answer. */
export const nanocoder: Engine = {
  name: 'nanocoder',
  parser: 'nanocoder_json',
  cut: { stdout: 'documents', pty: 'documents' },
  about: 'nanocoder --plain --json run; 1.30',
  tools: {
    read: 'read_file',
    edit: 'write_file string_replace',
    delete: 'delete_file',
    move: 'move_file',
    search: 'find_files search_file_contents list_directory web_search',
    execute: 'execute_bash',
    fetch: 'fetch_url',
  },
  denials: usualDenial,
  shape: ({ value }) => documentIn(value) !== undefined,
  open(limits) {
    const answer = new AnswerText(limits, 1)
    let spoke = false
    return {
      read(frame, say) {
        if (spoke) return false
        const document =
          documentIn(frame.value) ??
          (isLenient(frame, limits)
            ? least.map((conditions) => Rec.of(frame.value, conditions)).find(Boolean)
            : undefined)
        if (!document && !isCut(frame)) return answer.keep(frame, say)
        answer.giveBack(say)
        spoke = true
        if (document) readDocument(document, say)
        return document !== undefined
      },
      end: (say) => answer.speak(say),
    }
  },
}

const documentIn = (value: unknown): Rec | undefined =>
  Rec.of(value, 'kind:text exitCode:number finalText toolCalls:list')

/** What the document has at least, if the caller has named the engine: two fields that only it has. */
const least = [
  'kind:text exitCode:number',
  'finalText:text toolCalls:list',
  'finalText:text kind:text',
  'finalText:text exitCode:number',
]

/** The document, cut off: half an answer is not an answer. */
function isCut({ open, text }: EngineFrame): boolean {
  return open === true && text.startsWith('{') && text.slice(1, 40).trimStart().startsWith('"kind"')
}

const EXIT = 'EXIT_CODE: '

const fields =
  'kind exitCode finalText:text reasoning:text toolCalls filesChanged:list usage:record error:text message:text'

function readDocument(document: Rec, say: Say): void {
  say.fields(document.values, fields)
  const thought = document.text('reasoning')
  if (thought) say.reasoning(undefined, thought)
  const changed = new Map<unknown, 'created' | 'modified'>()
  for (const [index, call] of document.records('toolCalls').entries()) {
    // Neither calls nor messages have ids.
    const path = readCall(`call-${index + 1}`, call, say) ? call.text('arguments.path') : undefined
    if (path !== undefined) changed.set(path, call.at('name') === 'write_file' ? 'created' : 'modified')
  }
  // It lists the files of failed calls, too.
  for (const path of document.list('filesChanged')) {
    const change = changed.get(path)
    if (change !== undefined) say.artifact(change, String(path))
  }
  const words = document.text('finalText')
  const kind = document.text('kind')
  const code = document.at('exitCode')
  const failed = (kind ?? 'success') !== 'success' || (code ?? 0) !== 0
  if (words) say.message(undefined, words, { enveloped: true, incomplete: failed || undefined })
  const usage = document.at('usage')
  say.status('result', { reason: kind ?? 'unknown', usage, tokens: tokensIn(usage) })
  if (failed)
    say.error(document.text('error message') ?? `the run ended: ${kind ?? `exit code ${code}`}`, 'fatal')
  else if (kind !== undefined) say.ended('success', words)
}

const tokensIn = /* @__PURE__ */ tokensAt({
  input: 'inputTokens',
  output: 'outputTokens',
  total: 'totalTokens',
})

/** Reports a call; true if it succeeded. Only the first line of an output shows that it failed. */
function readCall(id: string, call: Rec, say: Say): boolean {
  const name = call.text('name') ?? 'tool'
  const output = name === 'execute_bash' ? (call.text('result') ?? '') : ''
  const code = output.startsWith(EXIT)
    ? Number.parseInt(output.slice(EXIT.length, EXIT.length + 4), 10)
    : Number.NaN
  const exit_code = Number.isNaN(code) ? undefined : code
  const ended = {
    id,
    name,
    input: call.at('arguments'),
    output: call.at('result') ?? undefined,
    exit_code,
  }
  const failed = (call.at('error') ?? undefined) !== undefined || (exit_code ?? 0) !== 0
  say.call(failed ? 'failed' : 'completed', { ...ended, error: call.text('error') })
  return !failed
}
