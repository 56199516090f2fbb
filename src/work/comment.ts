import { badOption, clip, type Fault, quote } from '../base/fault.ts'
import type { WorkOrder } from './order.ts'
import type { RepairedResult } from './result.ts'
import { BY_HAND } from './result-file.ts'
import type { SettledWork, WorkExit } from './settle.ts'

/**
 * The packaged template of the comment that `work` posts. Its head has the same keys as `work_result.txt`, so
 * that a program can read a comment back. `{{name}}` is a value, `{{#name}}…{{/name}}` is kept only if there
 * is one. A template of yours can also have `{{verdict}}` and `{{advance}}`, which is `yes` or nothing.
 */
export const commentTemplate = `IssueRef: {{issue_ref}}
RunId: {{run_id}}
Status: {{status}}
PR: {{pr}}
Commit: {{commit}}
Tests: {{tests}}
Worker: {{worker}}
Evidence: {{source}}

{{#needs_human}}
**This result does not count and needs a human.**

Why:
{{reasons}}

Next step: {{next_step}}

{{/needs_human}}
{{#claimed_status}}
Claimed status: {{claimed_status}}

{{/claimed_status}}
{{#exit}}
Ended: {{exit}}

{{/exit}}
{{#problem}}
Problem: {{problem}}

{{/problem}}
{{#audit}}
Audit: {{audit}}

{{/audit}}
{{#stderr}}
End of stderr:
{{stderr}}

{{/stderr}}
{{#repaired}}
What repair would have read, which does not count:
{{repaired}}

{{/repaired}}
{{#blocked_by}}
Blocked by:
{{blocked_by}}

{{/blocked_by}}
{{#questions}}
Questions:
{{questions}}

{{/questions}}
{{#summary}}
Summary of {{author}}:
{{summary}}
{{/summary}}
`

/**
 * Makes a comment of a settled run. Only a result that advances shows its status; for any other the status
 * is `needs-human`, whatever the worker said, with the reasons and what to do next.
 *
 * Text of workers cannot change the shape of the comment: one-line values stay on their line, longer
 * text is quoted line by line, markup and control characters are escaped.
 *
 * @example
 * renderComment(settled, order, 'json-cli').split('\n')[2] // 'Status: ok'
 */
export function renderComment(
  settled: SettledWork,
  order: WorkOrder,
  worker: string,
  template: string = commentTemplate,
  left: Left = {},
): string {
  const facts: Facts = { settled, order, worker, left, good: settled.verdict === 'advance' }
  // Values are inserted once and never read as template again.
  const filled = piecesOf(template)
    .filter(({ section }) => section === undefined || values[section](facts) !== '')
    .map(({ text, name }) => text + (name === undefined ? '' : values[name](facts)))
  return `${filled.join('').trimEnd()}\n`
}

/** What a run left besides its result, for the person who takes over. */
export interface Left {
  readonly exit?: WorkExit | undefined
  /** What went wrong in it, in one sentence. */
  readonly problem?: string | undefined
  /** The last lines of stderr. */
  readonly stderr?: string | undefined
  /** The path of the audit of the run. */
  readonly audit?: string | undefined
}

/** Throws if a template cannot be filled, whatever the verdict will be: before any worker is started. */
export function checkTemplate(template: string): void {
  piecesOf(template)
}

interface Facts {
  readonly settled: SettledWork
  readonly order: WorkOrder
  readonly worker: string
  readonly left: Left
  /** The result advances. */
  readonly good: boolean
}

/** The names of a template, and what each becomes. */
const values = {
  issue_ref: ({ order }) => inline(order.issue_ref),
  run_id: ({ order }) => inline(order.run_id),
  status: ({ good, settled }) => (good && settled.claim.status) || 'needs-human',
  pr: ({ settled }) => inline(settled.claim.changes?.pr ?? 'none'),
  commit: ({ settled }) => inline(settled.claim.changes?.commit ?? 'none'),
  tests: ({ settled }) => inline(settled.claim.tests ?? 'missing'),
  worker: ({ worker }) => inline(worker),
  source: ({ settled }) => settled.source ?? 'none',
  verdict: ({ settled }) => settled.verdict,
  advance: ({ good }) => (good ? 'yes' : ''),
  needs_human: ({ good }) => (good ? '' : 'yes'),
  reasons: ({ settled }) =>
    settled.reasons.map(({ code, message }) => `- ${code}: ${inline(message)}`).join('\n'),
  next_step: ({ good, settled }) => (good ? '' : nextStep(settled)),
  blocked_by: ({ settled }) => block(settled.claim.blocked_by ?? ''),
  questions: ({ settled }) => (settled.claim.questions ?? []).map(block).join('\n>\n'),
  summary: ({ settled }) => block(settled.claim.summary ?? ''),
  author: ({ worker }) => (worker === BY_HAND ? 'the person who handed it in' : 'the worker'),
  claimed_status: ({ good, settled }) => (good ? '' : claimedStatus(settled)),
  exit: ({ good, left }) => (good || !left.exit ? '' : exitWords(left.exit)),
  problem: ({ good, left }) => (good ? '' : inline(left.problem ?? '')),
  audit: ({ good, left }) => (good ? '' : inline(left.audit ?? '')),
  stderr: ({ good, left, settled }) => {
    // Without a result, an empty stderr is worth reporting, too.
    const missing = left.exit !== undefined && settled.reasons.some(({ code }) => code === 'WORK_NO_RESULT')
    return good ? '' : block(left.stderr ?? '') || (missing ? '> (nothing)' : '')
  },
  repaired: ({ good, settled }) => (good || !settled.repaired ? '' : shown(settled.repaired)),
} as const satisfies Record<string, (facts: Facts) => string>

type Name = keyof typeof values

/** Some text, then a value, both only if their section is kept. */
interface TemplatePiece {
  readonly section: Name | undefined
  readonly text: string
  readonly name?: Name
}

const mark = /\{\{([^{}]{0,100})\}\}/g

/** Splits a template. Section marks are on lines of their own, and sections are not nested. */
function piecesOf(template: string): TemplatePiece[] {
  const pieces: TemplatePiece[] = []
  let section: Name | undefined
  let at = 0
  for (const found of template.matchAll(mark)) {
    const [whole, inside = ''] = found
    const text = template.slice(at, found.index)
    at = found.index + whole.length
    const opens = inside.startsWith('#')
    if (!opens && !inside.startsWith('/')) {
      pieces.push({ section, text, name: nameOf(inside) })
      continue
    }
    const name = nameOf(inside.slice(1))
    const alone = found.index === 0 || template[found.index - 1] === '\n'
    const ended = template[at] === '\n'
    if (!alone || (opens && !ended)) throw misplaced(whole, 'must be on a line of its own')
    if (opens && section) throw misplaced(whole, `is inside the section ${section}`)
    if (!opens && section !== name) throw misplaced(whole, 'closes a section that is not open')
    pieces.push({ section, text })
    section = opens ? name : undefined
    if (ended) at++
  }
  if (section) throw misplaced(`{{#${section}}}`, 'is never closed')
  return [...pieces, { section, text: template.slice(at) }]
}

function nameOf(text: string): Name {
  if (Object.hasOwn(values, text)) return text as Name // cast: it is one of the keys
  const names = Object.keys(values).join(', ')
  throw badOption(`the template names ${quote(text)}; it can name ${names}`)
}

function misplaced(found: string, why: string): Fault {
  return badOption(`the template has ${quote(found)}, which ${why}`)
}

function nextStep({ reasons, source }: SettledWork): string {
  const codes = new Set(reasons.map(({ code }) => code))
  if (codes.has('SPAWN_FAILED'))
    return 'check that the command of the worker exists and can run, then run the order again.'
  if (codes.has('WORK_INTERRUPTED'))
    return `look at what the worker left in the repository, then run the order again, or finish by hand and ${handIn}.`
  if (codes.has('WORK_NO_RESULT'))
    return `read the output of the worker, then run the order again, or write the result by hand and ${handIn}.`
  if (codes.has('WORK_UNTRUSTED'))
    return `check what the worker claims, then write the result by hand and ${handIn}.`
  const refused = reasons.find(({ code }) => code === 'WORK_FILE_REFUSED')
  if (refused)
    return `look at the result file before touching it (${inline(refused.message)}). Then run the order again, or write the result as a small regular file in UTF-8 and ${handIn}.`
  return `correct the ${source === 'text' ? 'text' : 'JSON'} result and ${handIn}, or run the order again.`
}

const handIn = 'hand it in (npx agent-sluice work --order ORDER --outbox DIR --result FILE)'

function exitWords({ code, signal, ended }: WorkExit): string {
  if (ended !== undefined && code === null && signal === null) return `none: the worker was ${ended}`
  const how = signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${inline(signal)}`
  return ended === undefined ? how : `${how} (${ended})`
}

/** The status that a result which does not count claims: never shown as the status. */
function claimedStatus({ claim, reasons }: SettledWork): string {
  if (claim.status === undefined) return ''
  const untrusted = reasons.some(({ code }) => code === 'WORK_UNTRUSTED')
  return `${claim.status} (${untrusted ? 'untrusted' : 'does not count'})`
}

function shown({ claim, changes, notes }: RepairedResult): string {
  const found = Object.keys(claim).length === 0 ? '> (nothing)' : block(JSON.stringify(claim, null, 2))
  const how = changes.length === 0 ? '' : `\n>\n> Changed: ${inline(changes.join(', '))}`
  const but = notes.map(({ code, message }) => `\n>\n> ${code}: ${inline(message)}`)
  return found + how + but.join('')
}

/** One line, without anything that a terminal, a log or Markdown would interpret. */
function inline(text: string): string {
  return clip(harmless(text).replace(/\s+/g, ' ').trim(), 500)
}

/** Several lines, each after a quote mark: none of them can look like a header of the comment. */
function block(text: string): string {
  const lines = harmless(clip(text, 16 * 1024)).split('\n')
  return text === '' ? '' : lines.map((line) => `> ${line.trimEnd()}`.trimEnd()).join('\n')
}

function harmless(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
}
