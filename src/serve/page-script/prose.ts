/** How the text of an agent is set. */
export const prose = String.raw`
// ---------------------------------------------------------------- prose

/** Text with its fenced blocks and inline code set as code: text nodes and elements, no markup is run. */
function prose(text) {
  const out = []
  const parts = text.split('\n')
  let plain = []
  let code = null
  const flushPlain = () => {
    let joined = plain.join('\n')
    plain = []
    // A block of code has room of its own around it.
    if (out.length > 0) joined = joined.replace(/^\n{1,9}/, '')
    if (code !== null) joined = joined.replace(/\n{1,9}$/, '')
    if (joined === '') return
    const bits = joined.length < 20000 ? joined.split(/(${'`'}[^${'`'}\n]{1,200}${'`'})/) : [joined]
    for (const bit of bits) out.push(bit.length > 2 && bit.startsWith('${'`'}') && bit.endsWith('${'`'}') ? make('code', {}, bit.slice(1, -1)) : bit)
  }
  for (const line of parts) {
    const fence = /^ {0,3}${'```'}/.test(line)
    if (fence && code === null) { code = []; flushPlain() }
    else if (fence) { out.push(make('pre', {}, code.join('\n'))); code = null }
    else if (code !== null) code.push(line)
    else plain.push(line)
  }
  if (code !== null) out.push(make('pre', {}, code.join('\n')))
  code = null
  flushPlain()
  return out
}
`
