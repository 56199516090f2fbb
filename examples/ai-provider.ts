// An agent CLI as a language model of the AI SDK: streamText({ model: codex('gpt-5.4'), prompt }).
// For another CLI, only the command line differs. The cast is for programs that have the types of the DOM.
import { Readable } from 'node:stream'
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3Prompt } from '@ai-sdk/provider'
import { run } from 'agent-sluice'
import { languageModel, languageModelResult } from 'agent-sluice/views'

export function codex(modelId: string): LanguageModelV3 {
  const start = ({ prompt, responseFormat, includeRawChunks, abortSignal }: LanguageModelV3CallOptions) => {
    const schema = responseFormat?.type === 'json' ? { ...responseFormat.schema } : undefined
    const rule = schema ? `\n\nAnswer with JSON that fits this schema:\n${JSON.stringify(schema)}` : ''
    const options = { prompt: textOf(prompt) + rule, schema, signal: abortSignal }
    const agent = run('codex', ['exec', '--json', '--model', modelId, '-'], options)
    return agent.pipe(languageModel({ text: schema ? 'result' : 'messages', raw: includeRawChunks }))
  }
  return {
    specificationVersion: 'v3',
    provider: 'codex-cli',
    modelId,
    supportedUrls: {},
    doStream: async (options) => ({ stream: Readable.toWeb(start(options)) as ReadableStream }),
    doGenerate: (options) =>
      languageModelResult(start(options)).finally(() => options.abortSignal?.throwIfAborted()),
  }
}

function textOf(prompt: LanguageModelV3Prompt): string {
  const parts = prompt.flatMap<string | { type: string }>(({ content }) => content)
  return parts.map((part) => (typeof part === 'string' ? part : 'text' in part ? part.text : '')).join('\n\n')
}
