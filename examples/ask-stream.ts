// Show an answer while it streams. The model here is a script that streams a few characters at a time.
import { setImmediate } from 'node:timers/promises'
import { ask } from 'agent-sluice'

const answer = 'Here you are: {"title": "Cart", "steps": ["read the test", "fix the sum"], "minutes": 25}'

async function* call() {
  for (let at = 0; at < answer.length; at += 9) {
    await setImmediate()
    yield answer.slice(at, at + 9)
  }
}

const schema = { type: 'object', required: ['title', 'steps', 'minutes'] }
for await (const { done, value, complete } of ask.stream(call, { prompt: 'Plan the fix.', schema })) {
  console.log(done ? 'done' : '...', JSON.stringify(value), complete.join(' '))
}
