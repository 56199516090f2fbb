// What other programs show of a run: its facts, and what went wrong in it.
export { type Problem, type ProblemKind, problemOf } from './views/problems.ts'
export { type RunSummary, summarizer } from './views/summary.ts'
