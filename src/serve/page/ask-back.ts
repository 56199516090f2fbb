import { byId, make } from './element.ts'

/** What it was about is over: that is a no. */
export function closeAsked(): void {
  dialog().close()
}

function dialog(): HTMLDialogElement {
  return byId('ask') as HTMLDialogElement // cast: a <dialog> in page.html
}

/** Asks the reader back, with a button of this word and Cancel. True if it is meant. */
export function askBack(title: string, words: string, yes: string, more?: Node): Promise<boolean> {
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
