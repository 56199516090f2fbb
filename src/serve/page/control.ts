import { askWords } from '../../events/call-words.ts'
import type { AgentEvent } from '../../events/event.ts'
import type { RequestItem } from '../../views/conversation.ts'
import type { RunInfo } from '../run-info.ts'
import { answerForm, type Tell } from './answer-form.ts'
import type { ConversationView } from './conversation-view.ts'
import { byId, make, onPress, setText } from './element.ts'
import type { Order, RunSource } from './source.ts'

/** The buttons of orders that end something. */
const ENDS = ['interrupt', 'stop'] as const
const UNDER_WAY = 'Sent; the run has not answered yet …'

/**
 * The orders that a reader gives to the run: answers to what it asks, Interrupt and Stop. Each is under way
 * until the run tells what became of it, which comes with its events.
 */
export class Control {
  readonly #source: RunSource
  readonly #view: ConversationView
  #run = ''
  #task = ''
  #can = false
  #forms = new WeakMap<RequestItem, HTMLFormElement>()
  /** What the reader is asked to confirm. */
  #asked: RequestItem | undefined
  /** By the id of an order: what waits for its end, and how it ended. */
  #waiting = new Map<string, Tell>()
  #told = new Map<string, string>()
  /** The requests that were announced, of all runs. */
  readonly #announced = new Set<string>()

  constructor(source: RunSource, view: ConversationView) {
    this.#source = source
    this.#view = view
    for (const what of ENDS) onPress(what, () => this.#end(what))
  }

  open(run: string): void {
    this.#run = run
    closeAsked()
    this.#forms = new WeakMap()
    this.#waiting = new Map()
    this.#told = new Map()
    this.#tell('', false)
    this.#allow(false)
  }

  inform(info: RunInfo): void {
    this.#task = info.task ?? info.id
    this.#allow(info.control === true && this.#source.order !== undefined)
  }

  /** The form of an open request; none if nobody may answer it from here. */
  readonly form = (item: RequestItem): HTMLElement | undefined => {
    const { request } = item
    const secret = request.questions?.some((question) => question.secret)
    if (!this.#can || secret || !this.#view.model.asked.includes(item)) return undefined
    const known = this.#forms.get(item)
    if (known) return known
    const made = answerForm(request, async (answer, kind, tell) => {
      const [title, label] = ['Allow this from now on, too?', answer.label ?? '']
      this.#asked = item
      if (kind === 'allow_always' && !(await askBack(title, askWords(item), label))) return
      const { option, answers } = answer
      this.#give({ do: 'answer', request: request.id, ...(answers ? { answers } : { option }) }, tell)
    })
    this.#forms.set(item, made)
    return made
  }

  /** Takes the events that say what became of orders. */
  take(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.type !== 'lifecycle.run.status') continue
      const { status, id, result, why } = event.data
      if (status !== 'control' || id === undefined) continue
      const words =
        result === 'done' ? 'Done.' : `${result === 'refused' ? 'Refused' : 'Nobody knows'}: ${why}`
      this.#told.set(id, words)
      this.#waiting.get(id)?.(words, false)
      this.#waiting.delete(id)
    }
  }

  /** Nothing more will be told. */
  over(): void {
    for (const tell of this.#waiting.values()) tell('The run ended without it.', false)
    this.#waiting.clear()
  }

  /** New events were drawn: announces what is asked, once, and moves the focus there if nothing has it. */
  drawn(): void {
    const { asked } = this.#view.model
    const alert = byId('alert')
    if (this.#asked?.by !== undefined) {
      this.#asked = undefined
      closeAsked()
    }
    if (asked.length === 0 || !this.#can) alert.textContent = ''
    if (!this.#can) return
    const fresh = asked.filter(({ request }) => !this.#announced.has(`${this.#run} ${request.id}`))
    const [first] = fresh
    if (!first) return
    for (const { request } of fresh) this.#announced.add(`${this.#run} ${request.id}`)
    alert.textContent = `Waits for an answer: ${askWords(first)}`
    const { activeElement } = document
    if (activeElement === document.body || activeElement === byId('conversation')) this.reach(first)
  }

  /** Moves the focus to where a request can be answered, else to the request. */
  reach(item: RequestItem): void {
    const form = this.form(item)
    if (form) this.#view.show(item)
    else this.#view.go(item)
    form?.focus({ preventScroll: true })
  }

  #allow(can: boolean): void {
    for (const what of ENDS) byId(what).hidden = !can
    if (this.#can === can) return
    this.#can = can
    this.#view.redraw(this.#view.model.asked)
    this.drawn()
  }

  async #end(what: 'interrupt' | 'stop'): Promise<void> {
    const run = this.#run
    this.#asked = undefined
    const now = make('input', { type: 'checkbox' })
    const [word, title, more] =
      what === 'stop'
        ? ['Stop', 'Stop this run?', make('label.pick', now, 'At once, without time to finish')]
        : ['Interrupt', 'Interrupt its turn?', undefined]
    if (!(await askBack(title, this.#task, word, more)) || run !== this.#run) return
    const tell: Tell = (words, busy) => this.#tell(words && `${word}: ${words}`, busy)
    this.#give(what === 'stop' && now.checked ? { do: what, now: true } : { do: what }, tell)
  }

  #tell(words: string, busy: boolean): void {
    setText('ordered', words)
    for (const what of ENDS) byId(what).toggleAttribute('disabled', busy)
  }

  async #give(order: Order, tell: Tell): Promise<void> {
    const run = this.#run
    tell(UNDER_WAY, true)
    const sent = await this.#source.order?.(run, order)
    if (run !== this.#run || !sent) return
    const { id, why } = sent
    if (id === undefined) return tell(`Not done: ${why}`, false)
    // The run may be faster than the answer of the server.
    const told = this.#told.get(id)
    if (told === undefined) this.#waiting.set(id, tell)
    else tell(told, false)
  }
}

/** What it was about is over: that is a no. */
function closeAsked(): void {
  dialog().close()
}

function dialog(): HTMLDialogElement {
  return byId('ask') as HTMLDialogElement // cast: a <dialog> in page.html
}

/** Asks the reader back, with a button of this word and Cancel. True if it is meant. */
function askBack(title: string, words: string, yes: string, more?: Node): Promise<boolean> {
  // A dialog of its own: the close event of another one may come late, and must not answer this one.
  const box = dialog().cloneNode() as HTMLDialogElement // cast: a copy of one
  dialog().replaceWith(box)
  box.setAttribute('aria-label', title)
  box.replaceChildren(
    make('h2', title),
    make('p', words),
    make(
      'form',
      { method: 'dialog' },
      more,
      make('button', { value: 'yes' }, yes),
      make('button', { autofocus: '' }, 'Cancel'),
    ),
  )
  box.showModal()
  return new Promise((done) => {
    box.addEventListener('close', () => done(box.returnValue === 'yes'), { once: true })
  })
}
