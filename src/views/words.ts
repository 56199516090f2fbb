/**
 * A duration for people: `340 ms`, `1.4 s`, `3 min 5 s`, `2 h 10 min`.
 *
 * @example
 * durationWords(1400) // '1.4 s'
 */
export function durationWords(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds))
  if (ms < 1000) return `${ms} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/**
 * A count with its noun: `1 tool`, `12,345 lines`.
 *
 * @example
 * countWords(2, 'file') // '2 files'
 */
export function countWords(count: number, thing: string, things = `${thing}s`): string {
  return `${grouped(count)} ${count === 1 ? thing : things}`
}

/** A number with thousands separators, the same in every locale. */
export function grouped(count: number): string {
  return count.toLocaleString('en')
}

/** A size for people: `512 B`, `3.4 KB`, `12.0 MB`. */
export function sizeWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(1)} KB`
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** Characters of a word of a command that are shown. */
const MAX_WORD = 4000

/** A word of a command as it is typed in a shell. Letters of other scripts need no quotes there. */
export function shellWord(word: string): string {
  if (/^[\w=+/.,:@%\u007f-\uffff-]+$/.test(word)) return word
  return `'${word.slice(0, MAX_WORD).replaceAll("'", "'\\''")}'`
}

/** Characters of a line that stands for a text. */
const MAX_SUMMARY = 300

/** The first line that is not blank, at most 300 characters of it. */
export function firstLine(text: string): string {
  for (const line of text.slice(0, 4 * MAX_SUMMARY).split('\n')) {
    const trimmed = line.trim()
    if (trimmed !== '') return trimmed.slice(0, MAX_SUMMARY)
  }
  return ''
}
