import { make } from './element.ts'

/** Copies a text. False if the browser does not allow it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without TLS a browser has a clipboard only for localhost; the old way still works.
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const field = make('textarea', { 'aria-hidden': 'true', class: 'hidden' })
  field.value = text
  const focused = document.activeElement
  document.body.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
