import { Bytes } from '../base/platform.ts'
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
  /** Which models print it. */
  readonly source: string
}

/** A tag: `<think>`, in any case, with blanks and attributes. */
function tag(name: string, source: string, lone?: true): Dialect {
  const opener = { bytes: Bytes.from(`<${name.toLowerCase()}`), free: true, quotable: true }
  const closers = [{ bytes: Bytes.from(`</${name.toLowerCase()}`), free: true, quotable: true }]
  return { name, opener, closers, source, ...(lone && { lone }) }
}

function marks(opener: string, closer: string, source: string, rare = 0): Dialect {
  return { name: opener, opener: { ...literal(opener), rare }, closers: [literal(closer)], source }
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
  return { name: opener, opener: { ...literal(opener), rest }, closers, source: 'OpenAI gpt-oss (harmony)' }
}

function literal(text: string): Mark {
  return { bytes: Bytes.from(text), quotable: true }
}

const NONE: readonly Dialect[] = []
/** The dialects that are hidden unless `think` names others. Add a new one here and nowhere else. */
const DIALECTS: readonly Dialect[] = /* @__PURE__ */ [
  tag('think', 'DeepSeek R1, Qwen 3 and QwQ, MiniMax M1 and M2, Phi-4 reasoning, Hunyuan, GLM 4.5', true),
  tag('thinking', 'Claude and others, if the prompt asks for it', true),
  tag('reasoning', 'prompts; the reasoning parsers of vLLM and OpenRouter'),
  tag('scratchpad', "Anthropic's prompt guides"),
  tag('thought', 'Gemini and Gemma, if the prompt asks for it'),
  tag('thoughts', 'prompts'),
  tag('analysis', "Anthropic's prompt guides"),
  tag('reflection', 'Reflection Llama 3.1'),
  tag('internal_thoughts', 'prompts of agent frameworks'),
  tag('seed:think', 'ByteDance Seed-OSS'),
  marks('[THINK]', '[/THINK]', 'Mistral Magistral', '[THIN'.length),
  marks('[think]', '[/think]', 'prompts that ask for it', '[thin'.length),
  marks('◁think▷', '◁/think▷', 'Moonshot Kimi-VL Thinking', 1),
  marks('<|begin_of_thought|>', '<|end_of_thought|>', 'OpenThinker, Sky-T1'),
  marks('<|START_THINKING|>', '<|END_THINKING|>', 'Cohere Command A Reasoning, Command R7B'),
  marks('<|inner_prefix|>', '<|inner_suffix|>', 'Swiss AI Apertus'),
  marks('<|channel>thought', '<channel|>', 'Gemma 4'),
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
  return think.filter((name) => !tags.includes(name)).map((name) => known(name) ?? tag(name, 'the caller'))
}

/** Where the first thought of a text may begin, or a lone closer is; -1 if it has none. */
export function thoughtIn(text: string): number {
  return text.search(MARK)
}

const MARK =
  /<(?:\||\/?(?:think|reasoning|scratchpad|thought|analysis|reflection|internal_thoughts|seed:))|\[THINK\]|◁think▷/i
