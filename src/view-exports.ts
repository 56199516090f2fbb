// What other programs show of a run: its facts, what went wrong in it, and what must not be shown.
export { type MarkdownOptions, markdownStage } from './views/markdown.ts'
export { type Problem, type ProblemKind, problemOf } from './views/problems.ts'
export { type Hidden, type RedactOptions, type Redactor, redactor, redactStage } from './views/redact.ts'
export { type RunSummary, summarizer } from './views/summary.ts'
export { type FailedCall, type Why, whyOf } from './views/why.ts'
