// A run in a React page, with `useChat` of the AI SDK. The agent is on the server; the page only follows it.
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { createRoot } from 'react-dom/client'
import { resumingFetch } from './resuming-fetch.ts'

const transport = new DefaultChatTransport({
  fetch: resumingFetch,
  prepareReconnectToStreamRequest: ({ id }) => ({ api: `/runs/${encodeURIComponent(id)}/ai-sdk` }),
})

function Run({ id }: { readonly id: string }) {
  const { messages, status, error } = useChat({ id, transport, resume: true })
  return (
    <main>
      {messages
        .flatMap(({ parts }) => parts)
        .map((part, index) => {
          // Parts are only ever added at the end, so their place is a key.
          if (part.type === 'text') return <p key={index}>{part.text}</p>
          if (part.type !== 'dynamic-tool') return null
          const result = part.state === 'output-error' ? part.errorText : JSON.stringify(part.output)
          return (
            <pre key={part.toolCallId}>
              {part.toolName} {JSON.stringify(part.input)} → {result}
            </pre>
          )
        })}
      <footer>{error ? `failed: ${error.message}` : status}</footer>
    </main>
  )
}

const id = new URLSearchParams(location.search).get('run') ?? ''
createRoot(document.body.appendChild(document.createElement('div'))).render(<Run id={id} />)
