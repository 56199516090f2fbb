import { type SchemaError, visible } from '../base/fault.ts'
import { MAX_ERRORS } from '../values/schema/schema.ts'

export const MAX_SUMMARY = 600
export const MAX_PATH = 120

/** As many broken rules as fit, each whole. `and` is what follows the one before, and says what is left. */
export function listed(
  start: string,
  errors: readonly SchemaError[],
  itemOf: (error: SchemaError) => string,
  and: { readonly next: string; readonly more: (count: number | undefined) => string },
): string {
  let text = start
  for (const [n, error] of errors.entries()) {
    const item = `${n === 0 ? '' : and.next}${itemOf(error)}`
    // Above the limit the number is not known.
    const more = and.next + and.more(errors.length < MAX_ERRORS ? errors.length - n : undefined)
    if (text.length + item.length + more.length > MAX_SUMMARY) return text + more
    text += item
  }
  return text
}

/** The name of a rule, which a schema that is code may have from the answer. */
export const ruleName = (rule: string) => (/^[\w.-]{1,60}$/.test(rule) ? rule : quoted(rule, 60))

/** A text as a JSON string of at most `max` characters, quotes included. A cut one ends in `…`. */
export function quoted(text: string, max: number): string {
  let inside = ''
  for (const character of text.slice(0, max)) {
    const next = visible(JSON.stringify(character).slice(1, -1))
    if (inside.length + next.length > max - 3) return `"${inside}…"`
    inside += next
  }
  return text.length > max ? `"${inside}…"` : `"${inside}"`
}
