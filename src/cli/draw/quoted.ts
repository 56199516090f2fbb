/** Maximum number of characters of a word to show. */
const MAX_WORD = 4000

/** A word of a command as it is typed in a shell. */
export function quoted(word: string): string {
  for (const char of word) if (!isPlain(char)) return `'${word.slice(0, MAX_WORD).replaceAll("'", "'\\''")}'`
  return word === '' ? "''" : word
}

function isPlain(char: string): boolean {
  return (
    (char >= 'a' && char <= 'z') ||
    (char >= 'A' && char <= 'Z') ||
    (char >= '0' && char <= '9') ||
    '-_=+/.,:@%'.includes(char) ||
    char > '~'
  )
}
