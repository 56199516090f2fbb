import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { type ContentPart, streamText, type TextStreamPart, type ToolSet } from 'ai'
import { drive } from '../../src/base/stage.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import {
  type LanguageModelOptions,
  languageModelResult,
  languageModelStage,
} from '../../src/views/language-model.ts'

/** A model whose answer is a run. */
export function modelOf(events: readonly AgentEvent[], options?: LanguageModelOptions): LanguageModelV3 {
  const stream = () =>
    ReadableStream.from<LanguageModelV3StreamPart>(drive(languageModelStage(options), events))
  return {
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'unknown',
    supportedUrls: {},
    doStream: async () => ({ stream: stream() }),
    doGenerate: () => languageModelResult(drive(languageModelStage(options), events)),
  }
}

/** What `streamText` made of a run. */
export interface Answered {
  readonly parts: readonly TextStreamPart<ToolSet>[]
  readonly content: readonly ContentPart<ToolSet>[]
  readonly errors: readonly unknown[]
}

/** Gives a run to `streamText` as the answer of a model. */
export async function sentToStreamText(events: readonly AgentEvent[]): Promise<Answered> {
  const errors: unknown[] = []
  const model = modelOf(events, { raw: true })
  const answer = streamText({
    ...{ model, prompt: 'x', includeRawChunks: true },
    onError: ({ error }) => void errors.push(error),
  })
  const parts: TextStreamPart<ToolSet>[] = []
  for await (const part of answer.fullStream) parts.push(part)
  return { parts, content: await answer.content, errors }
}
