import { checkOptions } from '../base/check-options.ts'
import { MARKDOWN_OPTIONS, type MarkdownOptions, markdownStage } from '../views/markdown/markdown.ts'
import { type Flow, flow } from './flow.ts'

/**
 * A run as Markdown that reads well in an issue, as one text at its end; see `markdownStage`.
 *
 * @example
 * await pipeline(replay('.audit/latest'), redact(), markdown(), stream)
 */
export function markdown(
  options: MarkdownOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<string> {
  checkOptions('markdown', options, 'markdown({ maxLength: 60_000 })', MARKDOWN_OPTIONS)
  return flow(markdownStage(options), { signal: options.signal })
}
