import { Bytes } from '../base/platform.ts'
import { SLASH, SPACE } from '../text/characters.ts'
import type { Mark } from './mark-search.ts'

/** How a model marks its thoughts. */
export interface Dialect {
  /** Unique; the name of its tag, if it is one. */
  readonly name: string
  readonly opener: Mark
  /** Any of them ends the thought. */
  readonly closers: readonly Mark[]
  /** The opener may have been in the prompt, so that the answer has only the closer. */
  readonly lone?: true
}

/** A tag: `<think>`, in any case, with blanks and attributes. */
function tag(name: string, lone?: true): Dialect {
  const opener = { bytes: Bytes.from(`<${name.toLowerCase()}`), free: true, quotable: true }
  const closers = [{ bytes: Bytes.from(`</${name.toLowerCase()}`), free: true, quotable: true }]
  return { name, opener, closers, ...(lone && { lone }) }
}

function marks(opener: string, closer: string, rare = 0): Dialect {
  return { name: opener, opener: { ...literal(opener), rare }, closers: [literal(closer)] }
}

/** A channel that is not the answer ends with its message, or at the next. It may name a recipient. */
function channel(name: string): Dialect {
  const opener = `<|channel|>${name}`
  const rest = Bytes.from('<|message|>')
  const closers = [
    literal('<|end|>'),
    literal('<|return|>'),
    { ...literal('<|start|>'), excluded: true },
    { ...literal('<|channel|>'), excluded: true },
  ]
  return { name: opener, opener: { ...literal(opener), rest }, closers }
}

function literal(text: string): Mark {
  return { bytes: Bytes.from(text), quotable: true }
}

const NONE: readonly Dialect[] = []
/**
 * The dialects that are hidden unless `think` names others, each with the models that print it. Add a new one
 * here and nowhere else.
 */
const DIALECTS: readonly Dialect[] = /* @__PURE__ */ [
  // DeepSeek R1, Qwen 3 and QwQ, MiniMax M1 and M2, Phi-4 reasoning, Hunyuan, GLM 4.5
  tag('think', true),
  // Claude and others, if the prompt asks for it
  tag('thinking', true),
  // prompts; the reasoning parsers of vLLM and OpenRouter
  tag('reasoning'),
  // Anthropic's prompt guides
  tag('scratchpad'),
  // Gemini and Gemma, if the prompt asks for it
  tag('thought'),
  // prompts
  tag('thoughts'),
  // Anthropic's prompt guides
  tag('analysis'),
  // Reflection Llama 3.1
  tag('reflection'),
  // prompts of agent frameworks
  tag('internal_thoughts'),
  // ByteDance Seed-OSS
  tag('seed:think'),
  // Mistral Magistral
  marks('[THINK]', '[/THINK]', '[THIN'.length),
  // prompts that ask for it
  marks('[think]', '[/think]', '[thin'.length),
  // Moonshot Kimi-VL Thinking
  marks('◁think▷', '◁/think▷', 1),
  // OpenThinker, Sky-T1
  marks('<|begin_of_thought|>', '<|end_of_thought|>'),
  // Cohere Command A Reasoning, Command R7B
  marks('<|START_THINKING|>', '<|END_THINKING|>'),
  // Swiss AI Apertus
  marks('<|inner_prefix|>', '<|inner_suffix|>'),
  // Gemma 4
  marks('<|channel>thought', '<channel|>'),
  // OpenAI gpt-oss (harmony)
  channel('analysis'),
  channel('commentary'),
]

/** The dialects to look for. A tag that may contain the payload does not mark a thought. */
export function dialectsOf(
  think: boolean | readonly string[],
  tags: readonly string[] = [],
): readonly Dialect[] {
  const isTag = ({ name }: Dialect) => tags.includes(name)
  if (think === true) return DIALECTS.some(isTag) ? DIALECTS.filter((dialect) => !isTag(dialect)) : DIALECTS
  if (think === false) return NONE
  const known = (name: string) => DIALECTS.find((dialect) => dialect.name === name)
  return think.filter((name) => !tags.includes(name)).map((name) => known(name) ?? tag(name))
}

/** Where the first thought of a text may begin, or a lone closer is; -1 if it has none. */
export function thoughtIn(text: string): number {
  // Most texts have none of these, and a regular expression takes ten times as long to find that out.
  let first = text.length
  for (const mark of ['[THINK]', '[think]', '◁think▷']) {
    const at = text.indexOf(mark)
    if (at >= 0 && at < first) first = at
  }
  for (let at = text.indexOf('<'); at >= 0 && at < first; at = text.indexOf('<', at + 1)) {
    // Most tags are no marks, as their first two letters tell.
    const name = text.charCodeAt(at + 1) === SLASH ? at + 2 : at + 1
    const first = text.charCodeAt(name)
    if (first !== BAR && !MARK_STARTS.has(pairOf(first, text.charCodeAt(name + 1)))) continue
    MARK.lastIndex = at
    if (MARK.test(text)) return at
  }
  return first < text.length ? first : -1
}

//  <think>low? no</think>⏎high
//                        ^ here
/** Where the closed thought ends that a text begins with; 0 if it begins with none. */
export function pastThought(text: string): number {
  const from = thoughtIn(text)
  if (from < 0 || text.slice(0, from).trim() !== '') return 0
  const lower = lowerOf(text)
  for (const { opener, closers } of DIALECTS) {
    const begin = lowerOf(opener.bytes.toString('utf8'))
    const inside = from + begin.length
    if (!lower.startsWith(begin, from) || (opener.free && /[^\s>]/.test(text[inside] ?? ''))) continue
    for (const { bytes, free, excluded } of closers) {
      const mark = lowerOf(bytes.toString('utf8')) + (free ? '>' : '')
      const at = excluded ? -1 : lower.indexOf(mark, inside)
      if (at >= 0) return at + mark.length
    }
  }
  return 0
}

/** Of ASCII alone, so that no position changes. */
const lowerOf = (text: string): string => text.replace(/[A-Z]+/g, (word) => word.toLowerCase())

const BAR = 0x7c
/** In small letters, as `|` with a space makes them of the bytes of ASCII. */
const pairOf = (first: number, second: number): number => ((first | SPACE) << 7) | (second | SPACE)
const MARK_STARTS = /* @__PURE__ */ new Set(
  ['th', 're', 'sc', 'an', 'in', 'se'].map((pair) => pairOf(pair.charCodeAt(0), pair.charCodeAt(1))),
)
const MARK = /<(?:\||\/?(?:think|reasoning|scratchpad|thought|analysis|reflection|internal_thoughts|seed:))/iy
