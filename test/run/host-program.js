// A program that runs an agent, and ends in the way that it is told: node host-program.js <library> <json>
import { spawn } from 'node:child_process'

const [, , library, told] = process.argv
const { agent, source, ends, options, handles } = JSON.parse(told)
const { run, tap } = await import(library)

if (handles === 'on') process.on('SIGTERM', () => {})
if (handles === 'once')
  process.once('SIGTERM', () => {
    process.exitCode = 9
  })
// Many programs have it, by other packages.
if (handles === 'signal-exit') (await import('signal-exit')).onExit(() => {})

const before = process.listenerCount('SIGTERM')
const [command, ...args] = agent
const live =
  source === 'tap'
    ? tap(spawn(command, args, { detached: options.group === true }), { kill: true, killGrace: 300 })
    : run(command, args, { engine: 'text', killGrace: 300, pipeGrace: 300, ...options })

const endings = {
  exit: () => process.exit(3),
  error: () =>
    setImmediate(() => {
      throw new Error('uncaught')
    }),
  rejection: () => void Promise.reject(new Error('unhandled')),
  signal: () => {},
}

let isReady = false
for await (const item of live) {
  const text = JSON.stringify(item.data ?? Buffer.from(item.bytes ?? '').toString())
  if (isReady || !text.includes('ready')) continue
  isReady = true
  process.stdout.write('ready\n')
  endings[ends]()
}
const end = source === 'tap' ? {} : await live.end
process.stdout.write(`${JSON.stringify({ end, listeners: process.listenerCount('SIGTERM') - before })}\n`)
