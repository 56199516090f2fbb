// An agent that opens a session as it should, says the lines of its plan, and ends as the plan says.
const fs = require('node:fs')
const [, , wire, planFile, notesFile] = process.argv
const plan = JSON.parse(fs.readFileSync(planFile, 'utf8'))
const note = (what) => fs.appendFileSync(notesFile, `${JSON.stringify(what)}\n`)
const print = (line) => fs.writeSync(1, `${line}\n`)
const say = (record) => print(JSON.stringify(record))
const rpc = wire === 'acp' ? { jsonrpc: '2.0' } : {}
const thread = { id: '0199a213-81c0-7800-8aa1-bbab2a035a53', modelProvider: 'openai', turns: [] }
const turn = { id: 't1', status: 'inProgress', items: [] }

const answers = {
  initialize: { protocolVersion: 1, agentCapabilities: {}, userAgent: 'x' },
  'session/new': { sessionId: 's' },
  'thread/start': { thread, model: 'm' },
}

function hear(record) {
  note({ got: record })
  const { id, method, type, request_id } = record
  if (type === 'control_request')
    return say({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
  if (type === 'user') {
    say({
      type: 'system',
      subtype: 'init',
      session_id: thread.id,
      uuid: 'u',
      cwd: '/',
      model: 'm',
      tools: [],
    })
    return work('')
  }
  if (method === 'turn/start') {
    say({ id, result: { turn } })
    say({ method: 'turn/started', params: { threadId: thread.id, turn } })
    return work(id)
  }
  if (method === 'session/prompt') return work(id)
  if (method in answers) say({ ...rpc, id, result: answers[method] })
  if (method === 'thread/start') say({ method: 'thread/started', params: { thread } })
}

function trueEnd(id) {
  if (wire === 'acp') return { ...rpc, id, result: { stopReason: 'end_turn' } }
  if (wire === 'codex')
    return {
      method: 'turn/completed',
      params: { threadId: thread.id, turn: { ...turn, status: 'completed' } },
    }
  const result = {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'done',
    session_id: thread.id,
  }
  return { ...result, uuid: 'u9', duration_ms: 1, num_turns: 1 }
}

function work(id) {
  for (const line of plan.lines) print(line.replaceAll('"$ID"', JSON.stringify(id)))
  if (plan.then === 'exit') setTimeout(() => process.exit(0), 80)
  if (plan.then === 'close') fs.closeSync(1)
  if (plan.then === 'end')
    setTimeout(() => {
      note({ ending: true })
      say(trueEnd(id))
      for (const line of plan.after ?? []) print(line)
    }, 150)
}

for (const line of plan.early ?? []) print(line)
let rest = ''
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) hear(JSON.parse(line))
})
process.stdin.on('end', () => {
  note({ closed: true })
  setTimeout(() => process.exit(0), 50)
})
