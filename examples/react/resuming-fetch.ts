// A `fetch` for event streams that survives a broken connection: it reconnects with the id of the last whole
// message until the server answers 204 (nothing left). Both clients accept it in place of their own.

/** Reconnects without a new message before it gives up. */
const MAX_TRIES = 20

export const resumingFetch: typeof fetch = async (input, init) => {
  const first = await fetch(input, init)
  if (first.status !== 200 || !first.body) return first
  const messages = new ReadableStream<Uint8Array>({
    async start(controller) {
      const encoder = new TextEncoder()
      let response: Response | undefined = first
      let last = ''
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        try {
          for await (const message of wholeMessages(response)) {
            controller.enqueue(encoder.encode(message))
            const id = /^id: (.*)$/m.exec(message)?.[1]
            if (id === undefined) continue
            last = id
            tries = 0
          }
        } catch {
          // The line was cut. What came before is safe, and what was half a message comes again.
        }
        if (init?.signal?.aborted) return controller.error(init.signal.reason)
        await new Promise((done) => setTimeout(done, 50 * tries))
        response = await ask(last)
        if (response?.status === 204) return controller.close()
        if (response && response.status >= 400) return controller.error(new Error(await response.text()))
      }
      controller.error(new Error('the line was cut too often'))
    },
  })
  return new Response(messages, first)

  async function ask(last: string): Promise<Response | undefined> {
    const headers = new Headers(init?.headers)
    headers.set('last-event-id', last)
    try {
      return await fetch(input, { ...init, headers })
    } catch {
      return undefined
    }
  }
}

/** The messages of a stream, each when it is whole. */
async function* wholeMessages(response: Response | undefined): AsyncGenerator<string> {
  const reader = response?.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) return
  let rest = ''
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const pieces = (rest + read.value).split('\n\n')
    rest = pieces.pop() ?? ''
    for (const piece of pieces) yield `${piece}\n\n`
  }
}
