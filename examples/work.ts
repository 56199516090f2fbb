// Run a worker on an order: a shell script here, any program or agent in real life. Its result ends in one
// comment.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { activate, ledger, outbox, work } from 'agent-sluice/work'

const dir = mkdtempSync(join(tmpdir(), 'work-example-'))
const repo_dir = join(dir, 'repo')
mkdirSync(repo_dir)

const runs = ledger(join(dir, 'outbox', 'ledger'))
await activate(runs, 'shop#12', 'run-7')

const done = await work(
  { issue_ref: 'shop#12', run_id: 'run-7', repo_dir, task: 'Fix the sum of the cart.' },
  {
    worker: 'text-cli',
    command: ['sh', fileURLToPath(new URL('worker.sh', import.meta.url))],
    outbox: outbox(join(dir, 'outbox')),
    ledger: runs,
    audit: join(dir, 'audit'),
  },
)
console.log(done.verdict, done.delivery, done.result?.changes)
console.log(done.comment)
console.log('state:', (await runs.read('shop#12'))?.state)
console.log('parsed by:', JSON.parse(readFileSync(done.audit ?? '', 'utf8')).parser)
rmSync(dir, { recursive: true })
