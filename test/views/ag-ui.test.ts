import { describe, expect, test } from 'vitest'
import { recordedRuns } from './fixtures.ts'
import { sentToAgUi } from './ag-ui-client.ts'

describe('every recorded run as AG-UI', () => {
  test.each(recordedRuns())('$name is taken by the client', async ({ events }) => {
    const { messages, error } = await sentToAgUi(events)
    const texts = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content).filter((x) => x !== undefined)
    const finals = events.filter((event) => event.type === 'agent.message.final')
    expect(texts).toEqual(finals.map(({ data }) => (data as { text: string }).text))
    if (error) console.log(error.message)
  })
})
