// An engine of one's own, recorded and replayed, and a floor of one's own.
import { events, replay, run, tap } from 'agent-sluice'
import { asText, type Engine, isRecord } from 'agent-sluice/engines'
import { type Frame, flow, frameStage, join, type Stage } from 'agent-sluice/values'

const toy: Engine = {
  name: 'toy',
  parser: 'toy_ndjson',
  cut: { stdout: 'records' },
  open: () => ({
    read({ value }, say) {
      if (!isRecord(value)) return false
      if (value['toy'] === 'says') say.message(asText(value['id']), asText(value['text']) ?? '')
      else if (value['toy'] === 'bye') {
        say.status('turn_completed')
        say.ended('bye')
      } else return false
      return true
    },
  }),
}
const log = '{"toy":"says","id":"1","text":"Hello"}\n{"toy":"bye"}\n'

for await (const event of tap(log).pipe(events(toy))) console.log(event.source.engine, event.type)

const agent = run('printf', ['%s', log], { engine: toy, audit: 'toy-run' })
const live = await agent.toArray()
const again = await replay('toy-run', { engine: toy }).toArray()
console.log((await agent.end).outcome, JSON.stringify(live) === JSON.stringify(again))

const sizes: Stage<Frame, number> = (next) => ({
  write: ({ from, to }) => next.write(to - from),
  end: () => next.end(),
})
for await (const size of tap(log).pipe(flow(join(frameStage({ lines: true }), sizes)))) console.log(size)
