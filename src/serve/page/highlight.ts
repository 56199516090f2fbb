/** Maximum number of marks: a single letter occurs often on a full page. */
const MAX_MARKS = 2000
const NAME = 'found'

/**
 * Marks a text wherever it occurs inside an element, without changing the element. Browsers without
 * highlights show none.
 */
export function highlight(root: HTMLElement, needle: string): void {
  if (typeof Highlight === 'undefined') return
  CSS.highlights.delete(NAME)
  if (needle === '') return
  const wanted = needle.toLowerCase()
  const marks = new Highlight()
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && marks.size < MAX_MARKS; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase()
    // Lower case can be longer than upper case (İ); then positions do not match, and the node is skipped.
    if (text.length !== node.nodeValue?.length) continue
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      marks.add(range)
    }
  }
  CSS.highlights.set(NAME, marks)
}
