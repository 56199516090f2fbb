// Four indicators of how well workers do, computed from the work_audit*.json files under a directory.
// Usage: tsx examples/indicators.ts AUDIT_DIR
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WorkAudit } from 'agent-sluice/work'

const dir = process.argv[2] ?? '.audit'
const audits: WorkAudit[] = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  .filter((name) => /work_audit(\.\d+)?\.json$/.test(name))
  .map((name): WorkAudit => JSON.parse(readFileSync(join(dir, name), 'utf8')))
  // What a person handed in is no result of a worker.
  .filter(({ worker }) => worker !== 'by hand')
  .sort((a: WorkAudit, b: WorkAudit) => a.started_at.localeCompare(b.started_at))

// 1. How long a new type of worker takes from its first run to its first result that counts.
const hours = [...new Set(audits.map(({ worker }) => worker))].flatMap((worker) => {
  const own = audits.filter((audit) => audit.worker === worker)
  const first = own.find(({ verdict }) => verdict === 'advance')
  return first && own[0] ? [(Date.parse(first.ended_at) - Date.parse(own[0].started_at)) / 3_600_000] : []
})

// 2. How many results a person had to fix because of their form.
const form = /^WORK_(NO_RESULT|FILE_REFUSED|RESULT_BROKEN|FIELD_\w+|UNTRUSTED)$/
const mended = audits.filter(
  ({ verdict, reasons }) => verdict === 'needs-human' && reasons.some(({ code }) => form.test(code)),
)

// 3. How many of the comments that were posted automatically have every key field.
const written = audits.filter(({ verdict, outbox }) => verdict === 'advance' && outbox === 'posted')
const whole = written.filter(({ fields }) => Object.values(fields).every(Boolean))

// 4. How many runs advanced although they were not the active one. Anything but 0 is a bug in agent-sluice.
const polluted = audits.filter(
  ({ verdict, run_id, active_run_id }) => verdict === 'advance' && run_id !== active_run_id,
)

const share = (part: unknown[], all: unknown[]) => (all.length === 0 ? null : part.length / all.length)
console.log(
  JSON.stringify({
    runs: audits.length,
    hours_to_first_result:
      hours.length === 0 ? null : hours.reduce((sum, each) => sum + each, 0) / hours.length,
    mended_by_hand: share(mended, audits),
    comments_with_all_fields: share(whole, written),
    polluted_states: polluted.length,
  }),
)
