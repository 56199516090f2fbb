import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../../src/run/run.ts'
import { workspace } from '../run/agent.ts'
import { findRuns } from './find-runs.ts'

const log = resolve('fixtures/codex/02-reasoning.pipe/stdout.log')
const failing = resolve('fixtures/codex/08d-http-401.pipe/stdout.log')

test.each([
  ['one that ended well', ['cat', log], {}, 'finished'],
  ['one whose agent reports an error', ['cat', failing], {}, 'failed'],
  ['one that left with an exit code', ['sh', '-c', 'echo "no rules" >&2; exit 3'], {}, 'failed'],
  ['one that ran too long', ['sh', '-c', 'sleep 30'], { timeout: 200 }, 'failed'],
  ['one that says nothing', ['true'], {}, 'unknown'],
])(
  'the list has the end of a run from its meta, without its journal: %s',
  async (_, argv, options, outcome) => {
    const { cwd, audit } = workspace()
    const [command, ...args] = argv
    await run(command!, args, { cwd, audit, prompt: 'Mend it.', ...options }).end
    const listed = () => findRuns(audit).map(({ info }) => info)
    const [fromMeta] = listed()
    expect(fromMeta).toMatchObject({ outcome, task: 'Mend it.' })
    const path = join(audit, 'meta.1.json')
    const meta = readFileSync(path, 'utf8')
    const { state, ...older } = JSON.parse(meta)
    expect(state).toBe(fromMeta?.state)
    writeFileSync(path, JSON.stringify(older))
    expect(listed()).toEqual([fromMeta])
    // Nothing of the journal is needed.
    writeFileSync(path, meta)
    truncateSync(join(audit, 'events.jsonl'), 1)
    expect(listed()).toEqual([fromMeta])
  },
)
