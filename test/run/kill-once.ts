import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { built } from '../built.ts'

/** What the agent is given: pipes, a terminal, or both. */
export type KillMode = 'pipes' | 'pty' | 'both'
const flags = { pipes: [], pty: ['--pty'], both: ['--pty', '--pipes'] } as const

/** What one kill looked like, if it broke nothing. */
export interface Kill {
  /** Events the killed process had already printed. */
  readonly acknowledged: number
  /** Events in the journal when it was killed, and after the resume. */
  readonly kept: number
  readonly after: number
}

/** More than the agent writes at once. */
const MAX_PUT = 4096

// An agent that writes records of uneven size in uneven pieces and keeps its own account of every byte that
// was taken: of each stream, and of both in order.
const agent = `
  import fs from 'node:fs'
  const accounts = ['both', 'stdout', 'stderr'].map((name) => fs.openSync('account.' + name, 'w'))
  const put = (fd, text) => {
    const bytes = Buffer.from(text)
    fs.writeSync(fd, bytes)
    for (const account of [accounts[fd], accounts[0]]) fs.writeSync(account, bytes)
  }
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
 * Starts `sluice run`, kills it with SIGKILL at a moment of its life, lets the agent end, resumes (and kills
 * the first resume, too, if `resumeMs` is given), and checks that nothing acknowledged is lost, no event is
 * written twice, no line is torn and the raw logs are what the agent wrote. Throws with the reason and the
 * directory if not.
 */
export async function killOnce(moment: {
  readonly from: 'start' | 'output'
  readonly ms: number
  /** @default 'pipes' */
  readonly mode?: KillMode
  /** Kills `sluice replay --resume` so long after its start. @default never */
  readonly resumeMs?: number
}): Promise<Kill> {
  const { mode = 'pipes' } = moment
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-kill-'))
  writeFileSync(join(cwd, 'agent.mjs'), agent)
  const fail = (why: string) => new Error(`${why}; see ${cwd} (${JSON.stringify(moment)})`)
  const words = [
    'run',
    '--engine',
    'codex',
    '--no-fs-diff',
    ...flags[mode],
    '--',
    process.execPath,
    'agent.mjs',
  ]
  const recorder = spawn(process.execPath, [built('src/cli/main.ts'), ...words], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
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
  const audits = existsSync(join(cwd, '.audit')) ? readdirSync(join(cwd, '.audit')) : []
  const [name, ...others] = audits.filter((name) => !/^\.?latest|^\.gitignore$/.test(name))
  if (others.length > 0) throw fail('one run made two directories')
  if (audits.includes('latest') && readlinkSync(join(cwd, '.audit/latest')) !== name) {
    throw fail('latest does not lead to the run')
  }
  if (name === undefined) {
    rmSync(cwd, { recursive: true })
    return { acknowledged: 0, kept: 0, after: 0 }
  }
  const audit = join(cwd, '.audit', name)
  const kept = existsSync(join(audit, 'events.jsonl'))
    ? readFileSync(join(audit, 'events.jsonl'), 'utf8').split('\n').length - 1
    : 0

  const started = existsSync(join(audit, 'meta.1.json'))
  if (moment.resumeMs !== undefined) {
    const resuming = spawn(process.execPath, [built('src/cli/main.ts'), 'replay', '--resume', audit], {
      stdio: 'ignore',
    })
    const gone = once(resuming, 'close')
    await Promise.race([delay(moment.resumeMs), gone])
    resuming.kill('SIGKILL')
    await gone
  }
  await resume(audit)
  await checkLogs(mode, cwd, audit, fail)
  const text = readFileSync(join(audit, 'events.jsonl'), 'utf8')
  const lines = text.split('\n')
  if (lines.pop() !== '') throw fail('the last line is torn')
  const ids = new Set<string>()
  lines.forEach((line, i) => {
    const event = JSON.parse(line)
    if (event.seq !== i + 1) throw fail(`line ${i + 1} has seq ${event.seq}`)
    ids.add(event.correlation.event_id)
  })
  if (ids.size !== lines.length) throw fail('an event was written twice')
  const acknowledged = printed.slice(0, printed.lastIndexOf('\n') + 1)
  if (!text.startsWith(acknowledged)) throw fail('an acknowledged event is lost or changed')
  if (started && readdirSync(audit).some((file) => file.endsWith('.log'))) {
    let again = ''
    for await (const event of replay(audit)) again += `${JSON.stringify(event)}\n`
    if (again !== text) throw fail('the replay differs from the journal')
    if (!/"type":"lifecycle.completion.state"/.test(lines.at(-1) ?? '')) throw fail('the end is missing')
    const meta = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
    if (!meta.complete) throw fail('the attempt is not complete')
  }
  if (readdirSync(audit).includes('journal.lock')) throw fail('the lock is still there')
  rmSync(cwd, { recursive: true })
  return { acknowledged: acknowledged.split('\n').length - 1, kept, after: lines.length }
}

/** Compares the logs with the accounts of the agent. */
async function checkLogs(mode: KillMode, cwd: string, audit: string, fail: (why: string) => Error) {
  const bytes = (path: string) => (existsSync(path) ? readFileSync(path) : Buffer.alloc(0))
  const account = (name: string) => bytes(join(cwd, `account.${name}`))
  if (mode === 'pipes') {
    // The agent was not killed; if it was started at all, it comes to its end.
    const until = Date.now() + 20_000
    const begun = existsSync(join(cwd, 'account.both'))
    while (begun && !existsSync(join(cwd, 'done')) && Date.now() < until) await delay(5)
  }
  if (mode !== 'pty') {
    for (const name of ['stdout', 'stderr']) {
      const log = bytes(join(audit, `${name}.1.log`))
      const wrote = account(name)
      // A terminal that is gone ends the agent, and that can be between a write and its account.
      const more = mode === 'pipes' ? 0 : MAX_PUT
      if (log.length > wrote.length + more) throw fail(`${name}.1.log has more than the agent wrote`)
      if (!log.subarray(0, wrote.length).equals(wrote))
        throw fail(`${name}.1.log is not what the agent wrote`)
    }
  } else {
    // What goes through a terminal goes through us: the log ends where we were killed.
    const log = bytes(join(audit, 'pty-output.1.log'))
    const wrote = Buffer.from(account('both').toString().replaceAll('\n', '\r\n'))
    const length = Math.min(log.length, wrote.length)
    if (log.length > wrote.length + MAX_PUT) throw fail('pty-output.1.log has more than the agent wrote')
    if (!log.subarray(0, length).equals(wrote.subarray(0, length)))
      throw fail('pty-output.1.log has something else')
  }
}
