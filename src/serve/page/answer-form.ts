import type { AgentRequest, RequestOption, RequestQuestion } from '../../events/event.ts'
import { button, make } from './element.ts'
import { visible } from './words.ts'

/** An option, or the answers to the questions by their ids; with the words on the button. */
interface Answer {
  readonly option?: string
  readonly label?: string
  readonly answers?: Readonly<Record<string, string | readonly string[]>>
}

/** What has become of an order: it is under way, or this is how it ended. */
export type Tell = (words: string, busy: boolean) => void

type Give = (answer: Answer, kind: RequestOption['kind'] | undefined, tell: Tell) => void

/** A question with its fields. */
interface Field {
  readonly box: HTMLElement
  /** What was answered; undefined if nothing was. */
  readonly read: () => string | readonly string[] | undefined
}

/** Every request can be dismissed, whatever it offers. */
const DISMISS: RequestOption = { id: 'cancel', kind: 'cancel', label: 'Dismiss' }

let forms = 0

/** What a person can answer: the questions as fields, and a button for each option. None is preselected. */
export function answerForm({ title, tool, options, questions = [] }: AgentRequest, give: Give) {
  const name = `answer-${++forms}`
  const fields = questions.map((question, at) =>
    fieldOf(question, `${name}-${at}`, question.question === title),
  )
  const status = make('p.how', { role: 'status' })
  const tell: Tell = (words, busy) => {
    // The focus stays here when the button that was pressed is disabled.
    if (busy && set.contains(document.activeElement)) form.focus({ preventScroll: true })
    set.disabled = busy
    status.textContent = words
  }
  const choose = ({ id, kind, label }: RequestOption) =>
    button({ 'data-kind': kind }, () => give({ option: id, label }, kind, tell), visible(label) || id)
  const set = make(
    'fieldset',
    ...fields.map(({ box }) => box),
    make(
      'div.choices',
      fields.length > 0 && make('button', 'Send'),
      ...(options.length > 0 ? options : [DISMISS]).map(choose),
    ),
  )
  const form = make('form.answer', { tabindex: -1, 'aria-label': `Answer to ${tool}` }, set, status)
  // What was missing may be there now.
  form.addEventListener('input', () => tell('', false))
  form.addEventListener('submit', (press) => {
    press.preventDefault()
    const read = fields.map((field) => field.read())
    const missing = read.indexOf(undefined)
    if (missing >= 0) {
      tell(`No answer yet: ${visible(questions[missing]!.question)}`, false)
      fields[missing]!.box.querySelector('input')?.focus()
    } else
      give({ answers: Object.fromEntries(questions.map(({ id }, at) => [id, read[at]!])) }, undefined, tell)
  })
  return form
}

/** One of several, some of several, or words of one's own. */
function fieldOf(
  { question, options, multiple, other }: RequestQuestion,
  name: string,
  told: boolean,
): Field {
  const words = make('input', { type: 'text', autocomplete: 'off' })
  const typed = () => words.value.trim()
  const shown = visible(question)
  // A single question is the title of the card.
  const hidden = { class: told && 'hidden' }
  if (options.length === 0) {
    const label = make('label.own', make('span', hidden, shown), words)
    return { box: label, read: () => typed() || undefined }
  }
  const picks = options.map(({ label, description }, at) => {
    const box = make('input', {
      type: multiple ? 'checkbox' : 'radio',
      name,
      'aria-describedby': `${name}-${at}`,
    })
    if (!multiple) box.addEventListener('change', () => (words.value = ''))
    return { label, description, box }
  })
  // Only one of them is the answer.
  if (!multiple)
    words.addEventListener('input', () => {
      for (const { box } of picks) box.checked &&= words.value === ''
    })
  const box = make(
    'fieldset',
    make('legend', hidden, shown),
    ...picks.map(({ label, description, box: pick }, at) =>
      make(
        'div',
        make('label.pick', pick, visible(label)),
        make('small', { id: `${name}-${at}` }, visible(description ?? '')),
      ),
    ),
    other && make('label.own', 'Another answer', words),
  )
  const read = () => {
    const chosen = picks.filter((pick) => pick.box.checked).map(({ label }) => label)
    const all = typed() === '' ? chosen : [...chosen, typed()]
    return multiple && all.length > 0 ? all : all[0]
  }
  return { box, read }
}
