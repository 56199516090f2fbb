import type { RequestQuestion } from '../events/event.ts'
import { type Rec, recordsIn } from '../events/record.ts'

/** The questions of a tool that asks the user, by the names of Claude Code, Qwen Code and Codex. */
export function questionsIn(list: unknown): readonly RequestQuestion[] | undefined {
  const asked = recordsIn(Array.isArray(list) ? list : [])
  const questions = asked.filter((one) => one.text('question') !== undefined).map(questionOf)
  return questions.length > 0 ? questions : undefined
}

function questionOf(asked: Rec, index: number): RequestQuestion {
  const header = asked.text('header')
  return {
    id: asked.text('id') ?? String(index),
    question: asked.text('question')!,
    ...(header !== undefined && { header }),
    options: asked.records('options').map((option) => {
      const description = option.text('description')
      return { label: option.text('label') ?? '', ...(description !== undefined && { description }) }
    }),
    ...(asked.at('multiSelect') === true && { multiple: true }),
    ...(asked.at('isOther') === true && { other: true }),
    ...(asked.at('isSecret') === true && { secret: true }),
  }
}
