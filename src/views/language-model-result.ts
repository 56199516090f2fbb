import { Fault } from '../base/fault.ts'
import type {
  LanguageModelPart,
  ModelResponse,
  ToolPart,
  TurnFinish,
  WithMetadata,
} from './language-model.ts'

/** A whole answer: the part of `LanguageModelV3GenerateResult` that an agent has. */
export interface LanguageModelResult extends TurnFinish {
  readonly content: (
    | ToolPart
    | ({ readonly type: 'text' | 'reasoning'; readonly text: string } & WithMetadata)
  )[]
  readonly response: ModelResponse
  readonly warnings: []
}

/**
 * The parts of `languageModel()` as one result, for the `doGenerate` of a model. Throws the error of a run
 * that failed.
 *
 * @example
 * const agent = run('codex', ['exec', '--json', 'fix the test'])
 * const { content, usage } = await languageModelResult(agent.pipe(languageModel()))
 */
export async function languageModelResult(
  parts: AsyncIterable<LanguageModelPart> | Iterable<LanguageModelPart>,
): Promise<LanguageModelResult> {
  const content: LanguageModelResult['content'] = []
  const texts = new Map<string, { type: 'text' | 'reasoning'; text: string } & WithMetadata>()
  let response: ModelResponse = {}
  let finish: TurnFinish | undefined
  for await (const part of parts) {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning'
        texts.set(part.id, { type, text: '', ...metadataOf(part) })
        content.push(texts.get(part.id)!)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
        texts.get(part.id)!.text += part.delta
        break
      case 'text-end':
      case 'reasoning-end':
        Object.assign(texts.get(part.id)!, metadataOf(part))
        break
      case 'tool-call':
      case 'tool-result':
        content.push(part)
        break
      case 'response-metadata': {
        const { type: _, ...facts } = part
        response = { ...response, ...facts }
        break
      }
      case 'error':
        throw part.error
      case 'finish': {
        const { type: _, ...facts } = part
        finish = facts
      }
    }
  }
  if (!finish) throw new Fault('BAD_STATE', 'the parts have no finish; give it those of languageModel()')
  return { content, response, warnings: [], ...finish }
}

function metadataOf({ providerMetadata }: WithMetadata): WithMetadata {
  return providerMetadata ? { providerMetadata } : {}
}
