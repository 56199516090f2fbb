// A run in a React page, with the client of AG-UI.
import { HttpAgent, type Message } from '@ag-ui/client'
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { resumingFetch } from './resuming-fetch.ts'

/** The agent runs on the server, and there is nothing to send to it: GET, where AG-UI would POST. */
class RecordedAgent extends HttpAgent {
  protected override requestInit(): RequestInit {
    const { signal } = this.abortController
    return { method: 'GET', headers: { accept: 'text/event-stream' }, signal }
  }
}

function Run({ id }: { readonly id: string }) {
  const [messages, setMessages] = useState<readonly Message[]>([])
  const [status, setStatus] = useState('running')
  useEffect(() => {
    const url = `/runs/${encodeURIComponent(id)}/ag-ui`
    const agent = new RecordedAgent({ url, fetch: (address, init) => resumingFetch(address, init) })
    agent
      .runAgent(
        {},
        {
          onMessagesChanged: ({ messages }) => setMessages([...messages]),
          onRunFinishedEvent: () => setStatus('ready'),
          onRunErrorEvent: ({ event }) => setStatus(`failed: ${event.message}`),
        },
      )
      .catch((error: Error) => setStatus(`failed: ${error.message}`))
    return () => agent.abortRun()
  }, [id])
  return (
    <main>
      {messages.map((message) => {
        if (message.role === 'tool') return <pre key={message.id}>→ {String(message.content)}</pre>
        if (message.role !== 'assistant') return null
        const calls = message.toolCalls?.map(({ function: called }) => `${called.name} ${called.arguments}`)
        return calls ? (
          <pre key={message.id}>{calls.join('\n')}</pre>
        ) : (
          <p key={message.id}>{String(message.content)}</p>
        )
      })}
      <footer>{status}</footer>
    </main>
  )
}

const id = new URLSearchParams(location.search).get('run') ?? ''
createRoot(document.body.appendChild(document.createElement('div'))).render(<Run id={id} />)
