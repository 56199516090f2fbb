// Sends every recorded run to the AI SDK that is installed beside this file, as a server and as a model
// would, and prints the messages that it makes.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { drive } from 'agent-sluice/events'
import { aiSdkHeaders, aiSdkSse, languageModelStage } from 'agent-sluice/views'
import { DefaultChatTransport, readUIMessageStream, streamText, validateUIMessages } from 'ai'

const [, , fixtures] = process.argv
const results = {}
const found = {}
const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(String(error)))

for (const path of readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).sort()) {
  if (!path.endsWith('events.jsonl')) continue
  const lines = readFileSync(join(fixtures, path), 'utf8').split('\n').filter(Boolean)
  try {
    const events = lines.map((line) => JSON.parse(line))
    found[path] = { ...(await received(events)), answer: await answered(events) }
    results[path] = hashOf(found[path])
  } catch (error) {
    results[path] = `failed: ${error}`
  }
}
console.log(JSON.stringify({ results, unhandled, found }))

async function received(events) {
  const line = aiSdkSse({ heartbeat: 0 })
  const body = line.toArray()
  for (const event of events) line.write(event)
  line.end()
  const response = new Response((await body).join(''), { headers: aiSdkHeaders })
  const transport = new DefaultChatTransport({ fetch: async () => response })
  const stream = await transport.reconnectToStream({ chatId: 'run' })
  let errors = 0
  let message
  const onError = () => {
    errors++
  }
  for await (const shown of readUIMessageStream({ stream, onError })) message = shown
  await validateUIMessages({ messages: [message] })
  return { message, errors }
}

/** What `streamText` has if a model answers with the run, as far as the versions name it alike. */
async function answered(events) {
  const stream = ReadableStream.from(drive(languageModelStage(), events))
  const names = { specificationVersion: 'v3', provider: 'test', modelId: 'run', supportedUrls: {} }
  const model = { ...names, doStream: async () => ({ stream }) }
  let errors = 0
  const onError = () => {
    errors++
  }
  const answer = streamText({ model, prompt: 'x', onError })
  const [content, finishReason, usage] = [await answer.content, await answer.finishReason, await answer.usage]
  const parts = content.map(({ type, text, toolName, input }) => ({ type, text, toolName, input }))
  return { parts, finishReason, tokens: [usage.inputTokens, usage.outputTokens], errors }
}

/** The same whatever order the keys have. */
function hashOf(value) {
  const sorted = (_, each) =>
    each?.constructor === Object
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each
  return createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex').slice(0, 16)
}
