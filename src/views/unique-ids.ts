/** Number of ids to remember; after that every id gets its place appended. */
const MAX_IDS = 65_536
/** Longer ids are not remembered. */
const MAX_LENGTH = 256

/**
 * Makes ids unique in a whole stream. Engines reuse an id in the next attempt, or for the reasoning and the
 * text of one message, and clients of other protocols would merge the two.
 *
 * @example
 * const unique = uniqueIds()
 * unique('item_0', '1.4') // 'item_0'
 * unique('item_0', '2.3') // 'item_0#2'
 */
export function uniqueIds(): (id: string, place: string) => string {
  const uses = new Map<string, number>()
  return (id, place) => {
    const count = uses.get(id)
    if (count === undefined && (id.length > MAX_LENGTH || uses.size >= MAX_IDS)) return `${id}#${place}`
    uses.set(id, (count ?? 0) + 1)
    if (count === undefined) return id
    // An engine may itself use `a#2`.
    let again = `${id}#${count + 1}`
    while (uses.has(again)) again += '#'
    if (uses.size < MAX_IDS) uses.set(again, 1)
    return again
  }
}
