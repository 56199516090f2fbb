import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { codexLines } from '../run/agent.ts'
import { ask, putRun, root, serving, shutAll } from './serving.ts'

afterEach(shutAll)

// A process of its own: within one, nothing happens between two calls of the server.
const swapper = `
  const fs = require('node:fs')
  const [dir, outside] = process.argv.slice(1)
  const names = ['journaled', 'plain']
  console.log('swapping')
  for (let i = 0; ; i++) {
    const path = dir + '/' + names[i % 2], away = dir + '/../away-' + i % 2
    fs.renameSync(path, away)
    fs.symlinkSync(outside, path)
    for (const end = performance.now() + Math.random() * 3; performance.now() < end; );
    fs.unlinkSync(path)
    fs.renameSync(away, path)
    for (const end = performance.now() + Math.random() * 3; performance.now() < end; );
  }`

const SECRET = 'a secret outside the run'

test('a run directory that is swapped for a link while it is read serves nothing from outside', {
  timeout: 120_000,
}, async () => {
  const above = root()
  const dir = join(above, 'served')
  putRun(dir, 'journaled', 200)
  mkdirSync(join(dir, 'plain'))
  writeFileSync(join(dir, 'plain', 'stdout.1.log'), `${codexLines.join('\n')}\n`)
  writeFileSync(join(dir, 'plain', 'meta.1.json'), '{"exit_code":0}')
  const outside = putRun(above, 'outside', 2, { run: SECRET })
  writeFileSync(join(outside, 'stdout.1.log'), `${SECRET}\n`.repeat(1000))
  writeFileSync(join(outside, 'stderr.1.log'), `${SECRET}\n`.repeat(1000))
  writeFileSync(
    join(outside, 'meta.1.json'),
    JSON.stringify({ run_id: SECRET, argv: [SECRET], exit_code: 0 }),
  )
  const { url } = await serving(dir)
  const swapping = spawn(process.execPath, ['-e', swapper, dir, outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(swapping.stdout, 'data')
  const paths = ['runs']
  for (const id of ['journaled', 'plain'])
    for (const what of ['', '/events', '/events?after=1', '/raw/stdout', '/raw/stderr?to=100'])
      paths.push(`runs/${id}${what}`)
  let good = 0
  try {
    for (let round = 0; round < 12; round++) {
      const answers = await Promise.all(paths.map((path) => ask(url + path)))
      for (const [i, { status, text }] of answers.entries()) {
        expect([paths[i], text.includes(SECRET)]).toEqual([paths[i], false])
        if (status === 200) good++
      }
    }
  } finally {
    swapping.kill('SIGKILL')
    await once(swapping, 'exit')
  }
  expect(good).toBeGreaterThan(12)
})
