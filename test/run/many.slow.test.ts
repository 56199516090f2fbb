import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { built } from '../built.ts'
import { codexLines, workspace } from './agent.ts'

const COUNT = 200

/** Starts them all, lets them go on when the last one has said a word, and prints how each ended. */
const program = `
  import fs from 'node:fs'
  import { run } from ${JSON.stringify(built('src/index.ts'))}
  let told = 0
  const one = async (n) => {
    const live = run('sh', ['agent.sh'], { engine: 'codex', audit: 'audit/' + n, fsDiff: false })
    for await (const { type } of live) {
      if (type !== 'raw.stderr' || ++told !== ${COUNT}) continue
      const go = fs.openSync('go', 'r+')
      fs.writeSync(go, 'go\\n'.repeat(${COUNT}))
    }
    const { outcome, exitCode } = await live.end
    console.log(JSON.stringify([outcome, exitCode]))
  }
  await Promise.all(Array.from({ length: ${COUNT} }, (_, n) => one(n)))`

test(`${COUNT} runs are recorded at once by a process that may open 1,024 files`, async () => {
  const { cwd } = workspace()
  const [first, ...rest] = codexLines
  // It says something on stderr before and after it waits for all others.
  const say = (lines: readonly string[]) => `printf '%s\\n' '${lines.join("' '")}'`
  const body = `${say([first!])}; echo a word >&2; read go < go; echo more >&2; ${say(rest)}`
  writeFileSync(join(cwd, 'agent.sh'), body)
  writeFileSync(join(cwd, 'program.mjs'), program)
  mkdirSync(join(cwd, 'audit'))
  execFileSync('mkfifo', [join(cwd, 'go')])
  const host = spawn('sh', ['-c', 'ulimit -n 1024; exec "$0" program.mjs', process.execPath], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const over = once(host, 'close')
  const ends: unknown[] = []
  for await (const line of createInterface({ input: host.stdout })) ends.push(JSON.parse(line))
  expect(await over).toEqual([0, null])
  expect(ends).toEqual(Array(COUNT).fill(['finished', 0]))
  for (let n = 0; n < COUNT; n++)
    expect(readFileSync(join(cwd, 'audit', String(n), 'stderr.1.log'), 'utf8')).toBe('a word\nmore\n')
})
