import type { AskCall, AskRequest } from '../../src/ask/options.ts'

/** A model that gives these answers, one for each call, and remembers what it was asked. */
export function model(...answers: string[]): { call: AskCall; asked: AskRequest[] } {
  const asked: AskRequest[] = []
  const call: AskCall = async (request) => {
    asked.push(request)
    const answer = answers[asked.length - 1]
    if (answer === undefined) throw new Error('the script of the model is over')
    return answer
  }
  return { call, asked }
}

/** The same, but each answer comes in deltas of so many characters. */
export function streamingModel(size: number, ...answers: string[]) {
  const { call, asked } = model(...answers)
  const seen = { deltas: 0, closed: false }
  const streaming: AskCall = async (request) => {
    const text = String(await call(request))
    return (async function* () {
      try {
        for (let at = 0; at < text.length; at += size) {
          seen.deltas++
          yield text.slice(at, at + size)
        }
      } finally {
        seen.closed = true
      }
    })()
  }
  return { call: streaming, asked, seen }
}
