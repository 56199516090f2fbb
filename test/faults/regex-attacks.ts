/** A text that repeats one piece as often as it is told to: what a pattern can take long for. */
export interface Attack {
  readonly prefix: string
  readonly unit: string
}

/** A part of a pattern: what it matches, and how often it may be repeated. */
type Part = { readonly max: number } & (
  | { readonly kind: 'character'; readonly samples: readonly string[] }
  | { readonly kind: 'group'; readonly choices: readonly (readonly Part[])[]; readonly looks: boolean }
)

/** More repetitions than this are worth an attack. */
const MANY = 8

/**
 * Texts made of what the pattern itself looks for: all that leads to one of its repetitions, and then what
 * that repeats, over and over.
 */
export function attacksOn(regex: RegExp): Attack[] {
  const attacks = new Map<string, Attack>()
  const add = (prefix: string, unit: string) => {
    if (unit !== '') attacks.set(`${prefix}\n${unit}`, { prefix, unit })
  }
  const visit = (parts: readonly Part[], before: string): void => {
    let prefix = before
    for (const [index, part] of parts.entries()) {
      const examples = examplesOf(part)
      if (part.max > MANY) {
        for (const unit of examples) {
          add(prefix, unit)
          // The search begins anew at each place where the prefix is.
          if (prefix !== '') add('', prefix + unit)
          // Two repetitions that share characters.
          const next = parts[index + 1]
          for (const other of next ? examplesOf(next) : []) add(prefix, unit + other)
        }
      }
      if (part.kind === 'group') for (const choice of part.choices) visit(choice, prefix)
      if (part.kind === 'character' || !part.looks) prefix += examples[0] ?? ''
    }
    add('', prefix)
  }
  const choices = parse(regex)
  for (const choice of choices) visit(choice, '')
  return [...attacks.values()]
}

/** Some texts that a part matches. */
function examplesOf(part: Part): readonly string[] {
  if (part.kind === 'character') return part.samples
  return part.choices.slice(0, 4).flatMap((choice) => {
    const [first = '', ...more] = choice.map((one) => examplesOf(one)[0] ?? '')
    return [[first, ...more].join('')]
  })
}

const atom =
  /\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\[\s\S]|\[(?:[^\]\\]|\\[\s\S])*\]|[\s\S]/iy
const group = /\((\?[:=!]|\?<[=!]|\?<\w+>)?/y
const quantifier = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y

function parse({ source, flags }: RegExp): readonly (readonly Part[])[] {
  const modes = flags.replace(/[gy]/g, '')
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    at += match?.[0].length ?? 0
    return match
  }
  const choicesHere = (): Part[][] => {
    const choices: Part[][] = [[]]
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        at++
        choices.push([])
        continue
      }
      const opened = take(group)
      const inner = opened ? choicesHere() : undefined
      if (inner) at++
      const text = inner ? '' : take(atom)![0]
      const [, sign, least, comma, most] = take(quantifier) ?? []
      const max =
        sign === '*' || sign === '+' || (comma && most === '')
          ? Number.POSITIVE_INFINITY
          : Number(most || least || 1)
      if (inner)
        choices.at(-1)!.push({ kind: 'group', choices: inner, looks: /[=!]/.test(opened![1] ?? ''), max })
      else if (!/^(?:[$^]|\\[bB\d])$/.test(text))
        choices.at(-1)!.push({ kind: 'character', samples: samplesOf(text, modes), max })
    }
    return choices
  }
  return choicesHere()
}

const alphabet = [...' \t\n\ra1A0_-.:/\\"\'`{}[]()<>,;#*+=$&é|…ℹ🙂\u0000\u0085\u2028\ufeff']

/** Up to two different characters that an atom matches. */
function samplesOf(text: string, flags: string): string[] {
  const one = new RegExp(`^(?:${text})$`, flags)
  const all = [...text, ...alphabet].filter((character) => one.test(character))
  return [...new Set(all)].slice(0, 2)
}
