import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'

const main = new URL('../../src/cli/main.ts', import.meta.url).pathname

/** What one kill looked like, if it broke nothing. */
export interface Kill {
  /** Events the killed process had already printed. */
  readonly acknowledged: number
  /** Events in the journal when it was killed, and after the resume. */
  readonly kept: number
  readonly after: number
}

// An agent that writes records of uneven size in uneven pieces and keeps its own account of every byte that was taken.
const agent = `
  import fs from 'node:fs'
  const account = fs.openSync('account', 'w')
  const put = (fd, text) => { const bytes = Buffer.from(text); fs.writeSync(fd, bytes); if (fd === 1) fs.writeSync(account, bytes) }
  put(1, '{"type":"thread.started","thread_id":"t"}\\n')
  for (let i = 0; i < 120; i++) {
    const line = JSON.stringify({ type: 'item.completed', item: { id: 'item_' + i, type: 'agent_message', text: 'message ' + i + ' é'.repeat(i * 7 % 900) } }) + '\\n'
    const cut = (i * 37) % line.length
    put(1, line.slice(0, cut))
    if (i % 9 === 0) put(2, 'log ' + i + '\\n')
    put(1, line.slice(cut))
    if (i % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 4))
  }
  put(1, '{"type":"turn.completed","usage":{}}\\n')
  fs.writeFileSync('done', '')`

/**
 * Starts \`sluice run\`, kills it with SIGKILL at a moment of its life, lets the agent end, resumes, and checks that
 * nothing acknowledged is lost, nothing stands twice, no line is torn and the raw log is what the agent wrote.
 * Throws with the reason and the directory if not.
 */
export async function killOnce(moment: {
  readonly from: 'start' | 'output'
  readonly ms: number
}): Promise<Kill> {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-kill-'))
  const audit = join(cwd, '.audit')
  writeFileSync(join(cwd, 'agent.mjs'), agent)
  const recorder = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      main,
      'run',
      '--engine',
      'codex',
      '--no-fs-diff',
      '--cwd',
      cwd,
      '--audit',
      audit,
      '--',
      process.execPath,
      join(cwd, 'agent.mjs'),
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const closed = once(recorder, 'close')
  // Characters may be split between two reads.
  let printed = ''
  recorder.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text
  })
  if (moment.from === 'output') await Promise.race([once(recorder.stdout, 'data'), closed])
  await Promise.race([delay(moment.ms), closed])
  recorder.kill('SIGKILL')
  await closed
  const kept = existsSync(join(audit, 'events.jsonl'))
    ? readFileSync(join(audit, 'events.jsonl'), 'utf8').split('\n').length - 1
    : 0

  // The agent was not killed; if it was started at all, it comes to its end.
  const started = existsSync(join(audit, 'stdout.1.log'))
  const until = Date.now() + 20_000
  await resume(audit)
  const fail = (why: string) => new Error(`${why}; see ${cwd} (${JSON.stringify(moment)})`)
  if (started && existsSync(join(cwd, 'account'))) {
    while (!existsSync(join(cwd, 'done')) && Date.now() < until) await delay(5)
    const log = readFileSync(join(audit, 'stdout.1.log'))
    if (!log.equals(readFileSync(join(cwd, 'account')))) throw fail('the raw log is not what the agent wrote')
  }
  const text = readFileSync(join(audit, 'events.jsonl'), 'utf8')
  const lines = text.split('\n')
  if (lines.pop() !== '') throw fail('the last line is torn')
  const ids = new Set<string>()
  lines.forEach((line, i) => {
    const event = JSON.parse(line)
    if (event.seq !== i + 1) throw fail(`line ${i + 1} has seq ${event.seq}`)
    ids.add(event.correlation.event_id)
  })
  if (ids.size !== lines.length) throw fail('an event stands twice')
  const acknowledged = printed.slice(0, printed.lastIndexOf('\n') + 1)
  if (!text.startsWith(acknowledged)) throw fail('an acknowledged event is lost or changed')
  if (started) {
    let again = ''
    for await (const event of replay(audit)) again += `${JSON.stringify(event)}\n`
    if (again !== text) throw fail('the replay differs from the journal')
    if (!/"type":"lifecycle.completion.state"/.test(lines.at(-1) ?? '')) throw fail('the end is missing')
    const meta = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
    if (!meta.complete) throw fail('the attempt is not complete')
  }
  const left = readdirSync(audit).filter((name) => /lock|tmp/.test(name))
  if (left.some((name) => name === 'journal.lock')) throw fail('the lock is still there')
  rmSync(cwd, { recursive: true })
  return { acknowledged: acknowledged.split('\n').length - 1, kept, after: lines.length }
}
