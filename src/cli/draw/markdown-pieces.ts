/** Takes a message as it arrives and returns what can be drawn. */
export interface MarkdownPieces {
  /** The pieces that are complete now. */
  write(text: string): string[]
  /** The rest, at the end of the message. */
  end(): string[]
}

/**
 * Splits a growing Markdown text where blocks end: at an empty line outside a fence, if the next line is not
 * indented. The pieces are the same however the text arrives.
 */
export function markdownPieces(): MarkdownPieces {
  /** The incomplete line, and the whole lines of this piece. */
  let rest: string[] = []
  let lines: string[] = []
  let fence = ''
  let gap = false

  const take = (line: string): string[] => {
    const empty = line.trim() === ''
    const begins = gap && !empty && line[0] !== ' ' && line[0] !== '\t'
    const done = begins ? flush() : []
    if (!empty) gap = false
    if (empty && fence === '') gap = true
    lines.push(line)
    fence = fenceAfter(fence, line.trim())
    return done
  }
  const flush = (): string[] => {
    const text = lines.join('\n')
    lines = []
    gap = false
    return text.trim() === '' ? [] : [text]
  }

  return {
    write(text) {
      const done: string[] = []
      let from = 0
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        const line = rest.join('') + text.slice(from, at)
        rest = []
        done.push(...take(line.endsWith('\r') ? line.slice(0, -1) : line))
        from = at + 1
      }
      if (from < text.length) rest.push(text.slice(from))
      return done
    },
    end() {
      const line = rest.join('')
      rest = []
      const done = [...(line === '' ? [] : take(line)), ...flush()]
      fence = ''
      return done
    },
  }
}

/** The fence that is open after a line, given the one before it; empty for none. */
function fenceAfter(open: string, line: string): string {
  const char = line[0]
  if (char !== '`' && char !== '~') return open
  let length = 1
  while (line[length] === char) length++
  const info = line.slice(length)
  if (length < 3) return open
  if (open === '') return char === '`' && info.includes('`') ? '' : line.slice(0, length)
  return char === open[0] && length >= open.length && info === '' ? '' : open
}
