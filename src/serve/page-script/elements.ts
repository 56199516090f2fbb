/** How elements are found and made. */
export const elements = `
// ---------------------------------------------------------------- elements

const $ = (id) => document.getElementById(id)

/** Makes an element. Children are elements or text; text is never read as HTML. */
function make(tag, props, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue
    if (name === 'class') element.className = value
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.filter((child) => child !== undefined && child !== null))
  return element
}
`
