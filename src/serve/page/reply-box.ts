import type { RunInfo } from '../run-info.ts'
import { byId, setText } from './element.ts'
import type { RunSource } from './source.ts'

/** The box under a run that can be continued. What was typed stays until it was sent or another run opens. */
export class ReplyBox {
  readonly #source: RunSource
  readonly #form = byId('reply') as HTMLFormElement // casts: elements of page.html
  readonly #words = byId('reply-words') as HTMLTextAreaElement
  readonly #send = byId('reply-send') as HTMLButtonElement
  #run = ''
  #busy = false
  #can = false

  constructor(source: RunSource) {
    this.#source = source
    this.#words.addEventListener('input', () => this.#draw(''))
    this.#words.addEventListener('keydown', (press) => {
      if (press.key === 'Enter' && (press.ctrlKey || press.metaKey)) this.#form.requestSubmit()
    })
    this.#form.addEventListener('submit', (press) => {
      press.preventDefault()
      this.#give()
    })
  }

  open(run: string): void {
    this.#run = run
    this.#busy = this.#can = false
    this.#words.value = ''
    this.#draw('')
  }

  inform(info: RunInfo): void {
    const can = info.reply === true && this.#source.reply !== undefined
    if (this.#can === can) return
    this.#can = can
    this.#draw('')
  }

  async #give(): Promise<void> {
    const [run, text] = [this.#run, this.#words.value.trim()]
    if (this.#busy || text === '') return
    this.#busy = true
    this.#draw('Sending …')
    const { why } = (await this.#source.reply?.(run, text)) ?? {}
    if (run !== this.#run) return
    this.#busy = false
    if (why === undefined) this.#words.value = ''
    this.#draw(why === undefined ? 'Sent; the agent is started again …' : `Not sent: ${why}`)
  }

  #draw(words: string): void {
    this.#form.hidden = !this.#can
    this.#words.readOnly = this.#busy
    this.#send.disabled = this.#busy || this.#words.value.trim() === ''
    setText('reply-told', words)
  }
}
