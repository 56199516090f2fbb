import { sseRecord } from '../streams/sse.ts'
import { chatStage } from '../views/chat.ts'

const DATA = 'data: '

/**
 * Turns blocks of events into blocks of chat records. Chat records are numbered from the first event of a
 * run, so a reader always begins there; the first `after` of them, which the client has, are left out.
 */
export function chatBlocks(after: number): (events: Buffer) => string {
  let spelled = ''
  const chat = chatStage()({
    write(record) {
      if (record.seq > after) spelled += sseRecord(record)
    },
    end() {},
  })
  return (events) => {
    spelled = ''
    // Blocks are whole messages, and an event is one line of its message.
    for (const line of events.toString().split('\n'))
      if (line.startsWith(DATA)) chat.write(JSON.parse(line.slice(DATA.length)))
    return spelled
  }
}
