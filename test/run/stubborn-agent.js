// An agent that prints one message, never ends, ignores SIGTERM, and has a child with a child of its own that
// do the same. The message names the three processes. Usage: node stubborn-agent.js 2
import { spawn } from 'node:child_process'
import readline from 'node:readline'

process.on('SIGTERM', () => {})
process.on('SIGHUP', () => {})
setInterval(() => {}, 1000)
const [, program, depth] = process.argv
if (Number(depth) === 0) console.log(String(process.pid))
else {
  const child = spawn(process.execPath, [program, String(Number(depth) - 1)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  readline.createInterface({ input: child.stdout }).on('line', (line) => {
    const pids = `${process.pid} ${line}`
    if (Number(depth) === 1) console.log(pids)
    else {
      const item = { id: 'item_0', type: 'agent_message', text: pids }
      console.log('{"type":"thread.started","thread_id":"t-1"}')
      console.log('{"type":"turn.started"}')
      console.log(JSON.stringify({ type: 'item.completed', item }))
    }
  })
}
