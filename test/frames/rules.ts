import type { CutOptions } from './reference.ts'

/**
 * The cutting rules, sentence by sentence, each with an input and the frames a person expects of it.
 * A frame is `[what, source, text]`: `what` is its kind, label, flags and notes; `source` are its own
 * bytes, so that the sources of a row, put together, are the input. Bare objects are their own text.
 */
export interface Rule {
  readonly says: string
  readonly expect: readonly Expected[]
  readonly options?: CutOptions
}

type Expected = readonly [what: string, source: string | Buffer, text?: string]

const T = '```'
const W = '~~~'
const tagsOnly: CutOptions = { fences: false, lines: false, objects: false, think: false }
const tags: CutOptions = { ...tagsOnly, needsPayload: true }
const fencesOnly: CutOptions = { tags: [], lines: false, objects: false, think: false }
const linesOnly: CutOptions = { tags: [], fences: false, objects: false, think: false }
const objectsOnly: CutOptions = { tags: [], fences: false, lines: false, think: false }
const prose: CutOptions = { lines: false }
const scalars: CutOptions = { ...linesOnly, scalars: true }
const everyLine: CutOptions = { everyLine: true }
const document: CutOptions = { ...prose, document: 'object' }
const any: CutOptions = { ...prose, document: 'any' }

function bytes(...parts: readonly (string | number)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
}

export const lineRules: readonly Rule[] = [
  {
    says: 'a line from brace to brace is a frame, LF included, text without it',
    options: linesOnly,
    expect: [
      ['line', '{"a":1}\n', '{"a":1}'],
      ['line', '[2]\n', '[2]'],
    ],
  },
  {
    says: 'one CR before the LF belongs to the delimiter',
    options: linesOnly,
    expect: [
      ['line', '{"a":1}\r\n', '{"a":1}'],
      ['line', '{"b":2}\r\r\n', '{"b":2}\r'],
    ],
  },
  {
    says: 'CR alone, U+2028, U+2029 and U+0085 end no line',
    options: linesOnly,
    expect: [
      ['text', '10%\r20%\r{"a":1}\n'],
      ['line', '{"s":"a\u2028b\u2029c\u0085d"}\n', '{"s":"a\u2028b\u2029c\u0085d"}'],
    ],
  },
  {
    says: 'blanks after the last brace do not matter',
    options: linesOnly,
    expect: [['line', '{"a":1} \t\n', '{"a":1} \t']],
  },
  {
    says: 'blanks before the first brace are passed over and stay text',
    options: linesOnly,
    expect: [
      ['blank', ' \t\r'],
      ['line', '{"a":1}\n', '{"a":1}'],
      ['blank', '  '],
      ['line', '[{"a":1}]\n', '[{"a":1}]'],
    ],
  },
  {
    says: 'without objects, a line that begins like JSON is a frame, broken or not',
    options: linesOnly,
    expect: [
      ['line', '{"a":1} done\n', '{"a":1} done'],
      ['blank', '  '],
      ['line', '{"a":1,\n', '{"a":1,'],
      ['line', '{\n', '{'],
      ['text', '"b":2\n'],
      ['line', '["a", x\n', '["a", x'],
      ['line', '[ [1\n', '[ [1'],
    ],
  },
  {
    says: 'a bracket before anything else begins a frame only if the whole line parses, or is a broken array',
    options: linesOnly,
    expect: [
      ['text', '[INFO] x\n[1] Done\n[\n[x]\n[1/5]\n[12:30:01] x\n[0, 3] INFO worker\n'],
      ['line', '[1,\n', '[1,'],
      ['line', "['a']\n", "['a']"],
      ['line', '[null\n', '[null'],
      ['line', '[0, 3] "x"\n', '[0, 3] "x"'],
      ['line', '[ 1, true]\n', '[ 1, true]'],
      ['line', '[]\n', '[]'],
      ['text', '[n]\n'],
      ['line', '[null] ', '[null] '],
    ],
  },
  {
    says: 'a last line that does not parse is open if it begins like an array of scalars',
    options: linesOnly,
    expect: [['line open', '[1, 2']],
  },
  {
    says: 'beside objects, a line of scalars must end like a record',
    options: {},
    expect: [
      ['text', '[1,\n'],
      ['line', '[1,]\n', '[1,]'],
      ['text', '2]\n'],
    ],
  },
  {
    says: 'a last line is not open if its value is complete, whatever follows',
    options: linesOnly,
    expect: [['line', '{"a":1} do', '{"a":1} do']],
  },
  {
    says: 'a comment that holds a bracket or a quote opens nothing in the last line',
    options: linesOnly,
    expect: [['line', '{"a":1 /* " { */}', '{"a":1 /* " { */}']],
  },
  {
    says: 'with scalars, a line of one string, number or literal is a frame',
    options: scalars,
    expect: [
      ['line', '12\n', '12'],
      ['blank', ' \ufeff'],
      ['line', '-1.5e+3 \r\n', '-1.5e+3 '],
      ['line', '"a \\" b"\n', '"a \\" b"'],
      ['line', 'true\n', 'true'],
      ['text', '\n"so" he said\n2026-11-15 x\nnot null\nx 1\ntrue.\n1.\n'],
      ['line', 'null', 'null'],
    ],
  },
  {
    says: 'without scalars they are noise',
    options: linesOnly,
    expect: [['text', '12\n"a"\ntrue\n']],
  },
  {
    says: 'with everyLine, every line that is not blank is a frame, and nothing else is',
    options: everyLine,
    expect: [
      ['line', 'log: <json>1</json>\r\n', 'log: <json>1</json>'],
      ['blank', ' \n\0'],
      ['line !NUL_BYTES', `${T}\n`, T],
      ['line', '{"a":1}\n', '{"a":1}'],
      ['line', '<think>\n', '<think>'],
      ['blank', '\r\n \t'],
      ['line open', '{"b":', '{"b":'],
    ],
  },
  {
    says: 'NULs and a BOM before the brace are passed over and stay text; NULs are told of',
    options: linesOnly,
    expect: [
      ['blank', '\ufeff\0\0'],
      ['line !NUL_BYTES', '{"a":1}\n', '{"a":1}'],
      ['blank', '\0\ufeff'],
      ['line !NUL_BYTES', '{"b":2}\n', '{"b":2}'],
      ['blank', '\ufeff'],
      ['line', '{"c":3}\n', '{"c":3}'],
    ],
  },
  {
    says: 'a complete last line without LF is not open',
    options: linesOnly,
    expect: [
      ['text', 'log\n'],
      ['line', '{"a":1}', '{"a":1}'],
    ],
  },
  {
    says: 'a cut last line is open when objects are off',
    options: linesOnly,
    expect: [['line open', '{"a":1,"b', '{"a":1,"b']],
  },
  {
    says: 'a cut last line is an open object when objects are on',
    expect: [['object open', '{"a":1,"b']],
  },
  {
    says: 'a last line that was cut right behind an inner closer is open',
    options: linesOnly,
    expect: [['line open', '{"a":[1]', '{"a":[1]']],
  },
  {
    says: 'a last line that was cut inside a string is open, though a closer follows',
    options: linesOnly,
    expect: [['line open', '{"a":"\\"}', '{"a":"\\"}']],
  },
  {
    says: 'brackets in strings neither open nor close the last line',
    options: linesOnly,
    expect: [['line', '{"a":"[\\"{"} ', '{"a":"[\\"{"} ']],
  },
  {
    says: 'more closers than openers leave nothing open',
    options: linesOnly,
    expect: [['line', '{"a":1}}', '{"a":1}}']],
  },
  {
    says: 'a last line that was cut right behind an inner closer is an open object when objects are on',
    expect: [
      ['object', '{"a":1}'],
      ['object open', '{"b":[1]'],
    ],
  },
  {
    says: 'the same with an LF is a line: it has ended',
    expect: [['line', '{"a":[1]\n', '{"a":[1]']],
  },
  {
    says: 'a line that does not end in a closer is scanned once more for objects',
    expect: [
      ['object', '{"a":1}'],
      ['text', ' done\n'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'a line that does not end in a closer is scanned once more for tags',
    expect: [
      ['text', '{cmd} '],
      ['tag json', '<json>{"a":1}</json>', '{"a":1}'],
      ['blank', '\n'],
    ],
  },
  {
    says: 'two objects on one line are one line, to be read as a whole',
    options: linesOnly,
    expect: [['line', '{"a":1}{"b":2}\n', '{"a":1}{"b":2}']],
  },
  {
    says: 'a line hides the tags and fences inside its strings',
    expect: [['line', `{"a":"<json>{}</json> ${T}json"}\n`, `{"a":"<json>{}</json> ${T}json"}`]],
  },
]

export const tagRules: readonly Rule[] = [
  {
    says: 'a closer outside a string ends the block',
    options: tagsOnly,
    expect: [
      ['text', 'Sure: '],
      ['tag json', '<json>{"a":1}</json>', '{"a":1}'],
      ['text', ' bye'],
    ],
  },
  {
    says: 'tags are exact lower case without attributes',
    options: tagsOnly,
    expect: [['text', '<JSON>{}</JSON><json >{}</json ><json/>{}</json>']],
  },
  {
    says: 'a closer inside a string does not end the block',
    options: tagsOnly,
    expect: [['tag json', '<json>{"a":"</json>"}</json>', '{"a":"</json>"}']],
  },
  {
    says: 'a backslash protects the next quote, inside strings and outside',
    options: tagsOnly,
    expect: [
      ['tag json', '<json>{"a":"\\"</json>"}</json>', '{"a":"\\"</json>"}'],
      ['tag json', '<json>\\"</json>', '\\"'],
      ['tag json', '<json>\\\\"\\\\</json>"</json>', '\\\\"\\\\</json>"'],
    ],
  },
  {
    says: 'a string open at an LF makes the first in-string closer of that line the end',
    options: tagsOnly,
    expect: [
      ['tag json', '<json>{"a": "odd}</json>', '{"a": "odd}'],
      ['text', ' and </json>\nmore '],
      ['tag json', '<json>1</json>', '1'],
    ],
  },
  {
    says: 'the string state is new on each line',
    options: tagsOnly,
    expect: [['tag json', '<json>{"a": "odd\n}</json>', '{"a": "odd\n}']],
  },
  {
    says: 'an opener outside a string restarts the block',
    options: tagsOnly,
    expect: [
      ['text', '<json>{"a":'],
      ['tag json', '<json>{"a":1}</json>', '{"a":1}'],
    ],
  },
  {
    says: 'nested openers give the innermost block, stray closers are text',
    options: tagsOnly,
    expect: [
      ['text', '</json><json>'],
      ['tag json', '<json>{}</json>', '{}'],
      ['text', '</json>'],
    ],
  },
  {
    says: 'a restart ends the earlier block at its first in-string closer',
    options: tagsOnly,
    expect: [
      ['tag json', '<json>{"a":"odd}</json>', '{"a":"odd}'],
      ['text', ' "so '],
      ['tag json', '<json>{"b":2}</json>', '{"b":2}'],
    ],
  },
  {
    says: 'the end of input ends the block at its first in-string closer',
    options: tagsOnly,
    expect: [
      ['tag json', '<json>{"a":"odd}</json>', '{"a":"odd}'],
      ['text', ' bye'],
    ],
  },
  {
    says: 'a block that ends in a string is cut from the last opener in a string',
    options: tagsOnly,
    expect: [
      ['text', '<json>{"b":"par'],
      ['tag json', '<json>{"b":"full"}</json>', '{"b":"full"}'],
    ],
  },
  {
    says: 'a block that is open at the end counts if it starts with a brace',
    options: tagsOnly,
    expect: [['tag json open', '<json> {"a":1', ' {"a":1']],
  },
  {
    says: 'a block that is open at the end and starts otherwise is prose',
    options: prose,
    expect: [
      ['text', 'use <json> tags: '],
      ['object', '{"a":1}'],
      ['text', ' ok'],
    ],
  },
  {
    says: 'with needsPayload, an opener before other words opens nothing',
    options: tags,
    expect: [
      ['text', 'use `<json>` tags, <json> tags, '],
      ['tag json', '<json> \r\n\t{"a":1}</json>', ' \r\n\t{"a":1}'],
    ],
  },
  {
    says: 'with needsPayload, a fence or another tag may follow the opener',
    options: tags,
    expect: [
      ['tag json', `<json>\n${T}json\n{}\n${T}\n</json>`, `\n${T}json\n{}\n${T}\n`],
      ['tag json', `<json>${W}\n{}\n${W}</json>`, `${W}\n{}\n${W}`],
      ['tag json', '<json><b>{}</b></json>', '<b>{}</b>'],
      ['text', '<json>``{}``</json>'],
    ],
  },
  {
    says: 'other names may be cut, more than one at a time',
    options: { ...tagsOnly, tags: ['out', 'result-1'] },
    expect: [
      ['tag out', '<out>1</out>', '1'],
      ['text', '<json>2</json>'],
      ['tag result-1', '<result-1></out></result-1>', '</out>'],
    ],
  },
  {
    says: 'a block without payload that never ends is read again once, not each one in it',
    options: prose,
    expect: [['text', '<json>x\n"<json>y\n {"a":1}']],
  },
  {
    says: 'with needsPayload, a block that ends in a string is cut only from an opener that would open',
    options: tags,
    expect: [
      ['tag json', '<json>{"b":"odd <json> tags}</json>', '{"b":"odd <json> tags}'],
      ['text', '\n<json>{"b":"par'],
      ['tag json', '<json>{"b":"full"}</json>', '{"b":"full"}'],
      ['blank', '\n'],
    ],
  },
  {
    says: 'with needsPayload, it is cut from the last opener that would open, also right before one that would not',
    options: tags,
    expect: [
      ['text', '<json>{"'],
      ['tag json', '<json><json></json>', '<json>'],
    ],
  },
  {
    says: 'what one name ended or restarted says nothing about another',
    options: { ...tagsOnly, tags: ['a', 'b'] },
    expect: [['tag a', '<a>{<b>"</b></a>"}</a>', '{<b>"</b></a>"}']],
  },
]

export const thinkRules: readonly Rule[] = [
  {
    says: 'payloads in a think block are not cut',
    expect: [
      ['text', '<think>\n{"a":1}\n<json>{"b":2}</json>\n</think>\n'],
      ['line', '{"c":3}\n', '{"c":3}'],
    ],
  },
  {
    says: 'thinking ends at its own closer',
    options: prose,
    expect: [
      ['text', ' \t<thinking>{"a":1}</think>{"b":2}</thinking>'],
      ['object', '{"c":3}'],
    ],
  },
  {
    says: 'a think opener in mid-line hides too, and a lone closer is text',
    options: prose,
    expect: [
      ['text', 'Well <think>{"a":9}</think> '],
      ['object', '{"a":1}'],
      ['text', '</think>'],
    ],
  },
  {
    says: 'a think opener in a string, a tag block, a fence or a record opens nothing',
    expect: [
      ['object', '{"a":"<think>"}'],
      ['blank', ' '],
      ['tag json', '<json>"<think>"</json>', '"<think>"'],
      ['blank', '\n'],
      ['fence', `${T}\n<think>\n${T}\n`, '<think>'],
      ['line', '{"b":"<think>"}\n', '{"b":"<think>"}'],
    ],
  },
  {
    says: 'an opener in mid-line that has no closer within maxFrame was prose, and later openers still count',
    options: { ...prose, maxFrame: 40 },
    expect: [
      ['text', 'the <thinking> tag '],
      ['object !THINK_OPEN', '{"a":1}'],
      ['text', ' and <think>{"a":2}</think> '],
      ['object !THINK_OPEN', '{"a":3}'],
    ],
  },
  {
    says: 'what was found in a thought that was still open says so, up to its closer',
    options: { ...prose, maxFrame: 40 },
    expect: [
      ['text', 'the <thinking> tag '],
      ['object !THINK_OPEN', '{"a":1}'],
      ['text', ' xxxxxxxxxx </thinking> '],
      ['object', '{"a":3}'],
    ],
  },
  {
    says: 'a thought that opens where the one before has closed is another one',
    options: { ...prose, think: ['think'], maxFrame: 15 },
    expect: [
      ['text', '><think>></think><think>'],
      ['object !THINK_OPEN', '{"a":1}'],
      ['blank', '\n'],
    ],
  },
  {
    says: 'a reader that can wait hides a thought that opens in mid-line like any other',
    options: { ...prose, maxFrame: 40, patient: true },
    expect: [
      ['text', 'the '],
      ['text !FRAME_TOO_LONG', '<thinking> {"a":1} xxxxxxxxxx </thinking', ''],
      ['text', '>'],
      ['blank', ' '],
      ['object', '{"a":3}'],
    ],
  },
  {
    says: 'reasoning and scratchpads are thoughts; other names can be given',
    options: prose,
    expect: [
      ['text', '<reasoning>{"a":1}</reasoning> <scratchpad>{"a":1}</scratchpad> <notes>'],
      ['object', '{"a":2}'],
      ['text', '</notes>'],
    ],
  },
  {
    says: 'a name that is a tag is no thought',
    options: { ...prose, tags: ['think'], think: ['think', 'notes'] },
    expect: [
      ['text', '<notes>{"a":1}</notes>'],
      ['tag think', '<think>{"a":2}</think>', '{"a":2}'],
    ],
  },
  {
    says: 'after one that never ends, later blocks that do still hide',
    options: prose,
    expect: [
      ['text', '<thinking>hm '],
      ['object !THINK_UNCLOSED', '{"a":1}'],
      ['text', '\n<think>{"a":2}</think>'],
      ['object !THINK_UNCLOSED', '{"a":3}'],
    ],
  },
  {
    says: 'think blocks do not nest',
    options: prose,
    expect: [
      ['text', '<think>\n<think>\n</think>'],
      ['object', '{"a":1}'],
      ['text', '\n</think>'],
    ],
  },
  {
    says: 'a think block that never ends is read again as prose',
    options: prose,
    expect: [
      ['text', 'so\n<think>hm '],
      ['object !THINK_UNCLOSED', '{"a":1}'],
      ['text', '\n<think>'],
      ['tag json !THINK_UNCLOSED', '<json>{}</json>', '{}'],
    ],
  },
  {
    says: 'with think off nothing is hidden',
    options: { ...prose, think: false },
    expect: [
      ['text', '<think>'],
      ['object', '{"a":1}'],
      ['text', '</think>'],
    ],
  },
]

export const fenceRules: readonly Rule[] = [
  {
    says: 'a fence runs from its first mark through the line of its closer',
    options: fencesOnly,
    expect: [
      ['text', 'Here:\n'],
      ['fence json', `${T}json\n{"a":1}\n${T}\n`, '{"a":1}'],
      ['text', 'bye'],
    ],
  },
  {
    says: 'the info string is the label, trimmed, and there may be none',
    options: fencesOnly,
    expect: [
      ['fence json title=x', `${T} json title=x \r\n{}\r\n${T}\r\n`, '{}\r'],
      ['fence', `${W}\n{}\n${W}`, '{}'],
    ],
  },
  {
    says: 'a closer is at least as long, of the same mark, with only blanks after it',
    options: fencesOnly,
    expect: [
      ['fence', `${T}\`\na\n${T}\n${W}~\n${T}\` x\n${T}\`\` \t\n`, `a\n${T}\n${W}~\n${T}\` x`],
      ['text', 'b'],
    ],
  },
  {
    says: 'indent is 0 to 3, for opener and closer, and is dropped from the body',
    options: fencesOnly,
    expect: [
      ['text', `    ${T}\nno\n   `],
      ['fence', `${T}\n     a\n b\n   ${T}\n`, '  a\nb'],
      ['fence', `${T}\n    ${T}\n${T}\n`, `    ${T}`],
    ],
  },
  {
    says: 'backticks in the info string make it no fence',
    options: fencesOnly,
    expect: [
      ['text', `${T}a\`b\n${T}json x\` y\n`],
      ['fence a`b', `${W}a\`b\nx\n${W}`, 'x'],
    ],
  },
  {
    says: 'two marks are none, and a mark in mid-line is none',
    options: fencesOnly,
    expect: [['text', `\`\`\nx\n\`\`\nword ${T}\n`]],
  },
  {
    says: 'an unclosed fence runs to the end',
    options: fencesOnly,
    expect: [['fence json open', `${T}json\n{"a":1}\n`, '{"a":1}']],
  },
  {
    says: 'a fence that only opens at the end is open and empty',
    options: fencesOnly,
    expect: [
      ['text', 'a\n'],
      ['fence json open', `${T}json`, ''],
    ],
  },
  {
    says: 'a closer needs no LF, and a body may be empty',
    options: fencesOnly,
    expect: [['fence', `${T}\n${T}`, '']],
  },
  {
    says: 'quote marks before the opener are dropped from the body',
    options: fencesOnly,
    expect: [
      ['text', '> '],
      ['fence json', `${T}json\n> {\n>"a":1\n >  }\n> ${T}\n`, '{\n"a":1\n }'],
      ['text', '> x'],
    ],
  },
  {
    says: 'a body line without its quote mark ends the fence before it',
    options: { ...fencesOnly, lines: true },
    expect: [
      ['text', '> '],
      ['fence json', `${T}json\n> {}\n`, '{}'],
      ['line', '{"a":1}\n', '{"a":1}'],
    ],
  },
  {
    says: 'list marks before the opener are allowed, their width is dropped from the body',
    options: fencesOnly,
    expect: [
      ['text', '- '],
      ['fence json', `${T}json\n  {\n    "a":1\n  }\n  ${T}\n`, '{\n  "a":1\n}'],
      ['text', '12) '],
      ['fence', `${T}\n      x\n       ${T}\n`, '  x'],
    ],
  },
  {
    says: 'a list mark needs a blank after it',
    options: fencesOnly,
    expect: [
      ['text', `-${T}\n1${T}\n. ${T}\n1234567890. ${T}\n`],
      ['fence open', `${W}`, ''],
    ],
  },
  {
    says: 'a fence hides tags, lines and objects',
    expect: [
      [
        'fence sh open',
        `${T}sh\n<json>{"a":1}</json>\n{"b":2}\n<think>`,
        '<json>{"a":1}</json>\n{"b":2}\n<think>',
      ],
    ],
  },
  {
    says: 'a BOM may come before a fence',
    options: fencesOnly,
    expect: [
      ['blank', '\ufeff'],
      ['fence json', `${T}json\n{}\n${T}\n`, '{}'],
    ],
  },
  {
    says: 'a closer inside a JSON string does not end it, if it parses up to a later one',
    options: fencesOnly,
    expect: [
      ['fence json', `${T}json\n{"a":"x\n${T}\ny\n${T}sh\n"}\n${T}\n`, `{"a":"x\n${T}\ny\n${T}sh\n"}`],
      ['text', 'bye'],
    ],
  },
  {
    says: 'the same with quote marks, and with a closer that is the end of input',
    options: fencesOnly,
    expect: [
      ['text', '> '],
      ['fence', `${T}\n> {"a":"\n> ${T}\n> \t"}\n> ${T}`, `{"a":"\n${T}\n\t"}`],
    ],
  },
  {
    says: 'otherwise the first closer ends it, and what follows is read',
    options: fencesOnly,
    expect: [
      ['fence json', `${T}json\n{"a":"x\n${T}\n`, '{"a":"x'],
      ['text', 'y"\n'],
      ['fence open', `${T}\nz`, 'z'],
    ],
  },
  {
    says: 'a body that does not begin with a bracket ends at the first closer',
    options: fencesOnly,
    expect: [
      ['fence sh', `${T}sh\n"\n${T}\n`, '"'],
      ['text', '"\n'],
      ['fence open', T, ''],
    ],
  },
  {
    says: 'a fence in the range that was searched in vain is not searched again',
    options: fencesOnly,
    expect: [
      ['fence', `${T}\n{"a":"x\n${T}\n`, '{"a":"x'],
      ['fence', `${T}\n{"a":"\n${T}\n`, '{"a":"'],
      ['text', '"}\n'],
      ['fence open', T, ''],
    ],
  },
  {
    says: 'text before a list mark counts as indent, text before a quote mark does not',
    options: fencesOnly,
    expect: [
      ['text', '  - '],
      ['fence', `${T}\n     x\n    ${T}\n`, ' x'],
      ['text', '- > '],
      ['fence', `${T}\n  >   x\n  > ${T}\n`, '  x'],
    ],
  },
]

const readFences: CutOptions = { ...prose, readFences: 'object' }

/** Fences as values() reads them: only what is JSON is a frame, everything else is prose. */
export const proseFenceRules: readonly Rule[] = [
  {
    says: 'a fence of another language is a frame if its body is a JSON object',
    options: readFences,
    expect: [
      ['fence python', `${T}python\n{"a":1}\n${T}\n`, '{"a":1}'],
      ['text', `${T}text\n[1]\n${T}\n`],
      ['fence', `${T}\n[1]\n${T}`, '[1]'],
    ],
  },
  {
    says: 'or an array, where any root is wanted',
    options: { ...readFences, readFences: 'any' },
    expect: [['fence text', `${T}text\n[1]\n${T}`, '[1]']],
  },
  {
    says: 'what is in any other fence is prose',
    options: readFences,
    expect: [
      ['text', `${T}js\nlet x = `],
      ['object in_fence', '{"a":1}'],
      ['text', `\n${T}\n`],
      ['object', '{"b":1}'],
      ['text', `\n${W}\n`],
      ['tag json in_fence', '<json>{"c":1}</json>', '{"c":1}'],
      ['text', `\n${W}\n<think>`],
      ['object !THINK_UNCLOSED', '{"d":1}'],
    ],
  },
  {
    says: 'a fence in such a fence counts, and the first closer is its own',
    options: readFences,
    expect: [
      ['text', `${T}md\nx\n`],
      ['fence json in_fence', `${T}json\n{"a":1}\n${T}\n`, '{"a":1}'],
      ['object in_fence', '{"b":1}'],
      ['text', `\n${T}\n`],
      ['object', '{"c":1}'],
    ],
  },
  {
    says: 'one level deep',
    options: readFences,
    expect: [
      ['text', `${T}a\nx\n${T}b\ny\n${T}json\n`],
      ['object in_fence', '{"a":1}'],
      ['text', `\n${T}\n`],
      ['object in_fence', '{"b":1}'],
      ['text', `\n${T}\n`],
      ['object', '{"c":1}'],
    ],
  },
  {
    says: 'a fence that begins with a bracket and is not JSON is read again',
    options: readFences,
    expect: [
      ['text', `${T}js\n{ x } `],
      ['object in_fence', '{"a":1,}'],
      ['text', `\n${T}\n`],
      ['object', '{"b":1}'],
    ],
  },
  {
    says: 'a fence may open at the end of a line of prose, before a bracket',
    options: readFences,
    expect: [
      ['text', 'ok '],
      ['fence JSON', `${T}JSON\n\n{"a":1}\n${T}\n`, '\n{"a":1}'],
      ['text', `a ${T}b${T}\n`],
      ['object', '{"c":1}'],
      ['text', ` ${T}js\n`],
      ['object', '{"d":1}'],
      ['text', ` ${T}\nx`],
    ],
  },
  {
    says: 'words may follow the closer of a body that is complete',
    options: readFences,
    expect: [
      ['fence json', `${T}json\n{"a":1}\n${T}`, '{"a":1}'],
      ['text', ' Hope it helps.\n'],
      ['fence json', `${T}json\n{"b":\n${T} no\n1}\n${T}\n`, `{"b":\n${T} no\n1}`],
      ['fence json !FENCE_UNCLOSED', `${T}json\n{"c":1}\n`, '{"c":1}'],
      ['fence json', `${T}json\n{"d":1}\n${T}`, '{"d":1}'],
    ],
  },
  {
    says: 'a closer may be glued to a complete value, or be indented by any number of columns',
    options: readFences,
    expect: [
      ['fence json', `${T}json\n{"a":1,}${T}`, '{"a":1,}'],
      ['text', ' so\n'],
      ['fence', `${T}\n{"b":"${T}"} ${T}`, `{"b":"${T}"} `],
      ['blank', '\n'],
      ['fence json', `${T}json\n{"c":1}\n      ${T}`, '{"c":1}\n      '],
      ['blank', '\n'],
      ['fence', '~~~\n{"d":1}\n\t~~~', '{"d":1}\n\t'],
      ['text', '\n> '],
      ['fence json', `${T}json\n> {"e":1}${T}`, '{"e":1}'],
      ['blank', '\n'],
      ['fence json', `${T}json\n{"f":[1${T}\n]}\n${T}\n`, `{"f":[1${T}\n]}`],
      ['text', `${T}js\nf(`],
      ['object aside in_fence', '{"g":1}'],
      ['text', `)${T}\n${T}`],
    ],
  },
  {
    says: 'an opener may be glued to its value, if a closer follows that',
    options: readFences,
    expect: [
      ['fence', `${T}{"a":1}${T}`, '{"a":1}'],
      ['text', ' x\n'],
      ['fence', `${T}{\n"b":1\n}${T}`, '{\n"b":1\n}'],
      ['text', '\nuse '],
      ['fence json', `${T}json {"c":1} ${T}`, '{"c":1} '],
      ['blank', '\n'],
      ['fence', '~~~[{"d":1}]\n~~~', '[{"d":1}]'],
      ['text', `\n${T}`],
      ['object', '{"e":1}'],
      ['text', ` no\n${T}{x}${T}`],
    ],
  },
]

export const objectRules: readonly Rule[] = [
  {
    says: 'a brace opens only before a key, a bracket only before a brace',
    options: objectsOnly,
    expect: [
      ['text', '{cmd} fn() { } {{x}} {a b:1} [1,2] {} [] ["a"] {: '],
      ['object', '{ \r\n\t"a":1}'],
      ['blank', ' '],
      ['object', '[ {"a":1},{"b":[2]}]'],
    ],
  },
  {
    says: 'a key is in quotes of any kind, or bare with its colon',
    options: objectsOnly,
    expect: [
      ['object', "{'a':1}"],
      ['blank', ' '],
      ['object', '{\u201ca b\u201d:1}'],
      ['blank', ' '],
      ['object', '{a_1$-b :1}'],
      ['blank', ' '],
      ['object', '{1:2}'],
      ['blank', ' '],
      ['object', '{größe:1}'],
      ['text', ' {größe} {\u201d {'],
    ],
  },
  {
    says: 'with a schema a bracket opens before any JSON value',
    options: { ...objectsOnly, loose: true },
    expect: [
      ['object', '["a",1]'],
      ['blank', ' '],
      ['object', '[-1,2]'],
      ['blank', ' '],
      ['object', '[[1]]'],
      ['text', ' x: '],
      ['object', '[true]'],
      ['text', ' [] [x] {}'],
    ],
  },
  {
    says: 'a citation, an index and a link are no arrays',
    options: { ...objectsOnly, loose: true },
    expect: [
      ['text', 'see '],
      ['object aside', '[1]'],
      ['text', ', list'],
      ['object aside', '[0]'],
      ['text', ' and '],
      ['object aside', '[2,3]'],
      ['text', '(url); x = '],
      ['object', '[4]'],
      ['text', ';\n'],
      ['object', '["alone"]'],
      ['text', ' \n是'],
      ['object', '[5,6]'],
    ],
  },
  {
    says: 'unusual blanks may be behind a bracket',
    options: objectsOnly,
    expect: [
      ['object', '[\u00a0 {"a":1}]'],
      ['blank', ' '],
      ['object', '{\u00a0"a":1}'],
      ['text', ' [\u00a0x] '],
      ['object', '{"b":1}'],
    ],
  },
  {
    says: 'what follows an object with a bare key is not the rest of it',
    options: prose,
    expect: [
      ['text', 'use '],
      ['object broken@10', '{y: z}'],
      ['text', ': '],
      ['object', '{"a":1}'],
    ],
  },
  {
    says: 'scanning goes on at the byte that failed the gate',
    options: objectsOnly,
    expect: [
      ['text', '{'],
      ['object attached', '{"a":1}'],
      ['text', ' x}'],
    ],
  },
  {
    says: 'comments are passed over, whatever they hold',
    options: objectsOnly,
    expect: [
      ['object', '{"a":1, // it\'s a "}\n"b":2 /* ] " **/}'],
      ['text', ' x '],
      ['object', '{"u":http://x/}'],
      ['text', ' x '],
      ['object', '{"u":"//", "v":1/2}'],
    ],
  },
  {
    says: 'a bracket behind an object that was never opened breaks it, and the rest of it is passed over',
    options: objectsOnly,
    expect: [
      ['object broken@7', '{"k":1}'],
      ['text', '},"m":{"n":[2, true, null, -1.5e+3]}, word : \'it\' } and '],
      ['object', '{"b":2}'],
    ],
  },
  {
    says: 'so does a comma or colon before what may open a value or a key',
    options: objectsOnly,
    expect: [
      ['object broken@8', '{"k":1}'],
      ['text', ' , "m":2} so '],
      ['object broken@27', '{"k":1}'],
      ['text', ': key:{"a":1} so '],
      ['object broken@51', '{"k":1}'],
      ['text', ',\n false so '],
      ['object broken@70', '{"k":1}'],
      ['text', ', -1'],
    ],
  },
  {
    says: 'and a comma before a closing bracket or a comment',
    options: objectsOnly,
    expect: [
      ['object broken@7', '{"k":1}'],
      ['text', ',\n} so '],
      ['object broken@21', '{"b":2}'],
      ['text', ', // x\n"m": 3} so '],
      ['object', '{"c":3}'],
      ['text', ', /x'],
    ],
  },
  {
    says: 'any other comma or colon does not',
    options: objectsOnly,
    expect: [
      ['object', '{"a":1}'],
      ['text', ', then '],
      ['object', '{"a":2}'],
      ['text', ': as asked '],
      ['object', '{"a":3}'],
      ['text', ',\n- '],
      ['object', '{"a":4}'],
      ['text', ', nulls '],
      ['object', '{"a":5}'],
      ['text', ', '],
    ],
  },
  {
    says: 'a tag opener ends what is passed over, also inside a string',
    options: prose,
    expect: [
      ['object broken@7', '{"k":1}'],
      ['text', '},"m":"'],
      ['tag json', '<json>{}</json>', '{}'],
      ['text', '"}'],
    ],
  },
  {
    says: 'a line break inside a string, or a fence, ends what is passed over',
    options: prose,
    expect: [
      ['object broken@7', '{"k":1}'],
      ['text', '},"m":"\n'],
      ['object broken@22', '{"b":2}'],
      ['text', '},\n'],
      ['fence', `${T}\n{}\n${T}\n`, '{}'],
    ],
  },
  {
    says: 'a record on a line of its own ends what is passed over',
    expect: [
      ['object broken@7', '{"k":1}'],
      ['text', '},\n'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'an object that follows like the inside of a document is attached',
    options: objectsOnly,
    expect: [
      ['text', 'x, \n'],
      ['object attached', '{"a":2}'],
      ['text', ' x "k" : '],
      ['object attached', '{"a":3}'],
      ['text', ' k: '],
      ['object', '{"a":4}'],
      ['text', ' (: { '],
      ['object attached open', '{"a":5'],
    ],
  },
  {
    says: 'brackets in strings do not count, quotes protected by a backslash neither',
    options: objectsOnly,
    expect: [['object', '{"a":"}\\"]{","b":{"c":[]}}']],
  },
  {
    says: 'only the outermost is cut, and both kinds of bracket are one depth',
    options: objectsOnly,
    expect: [
      ['object', '{"a":{"b":1}]'],
      ['text', ' x'],
    ],
  },
  {
    says: 'a tag opener outside its strings ends it as prose',
    options: prose,
    expect: [
      ['text', '{"a":1, "b":"<json>" '],
      ['tag json', '<json>{"c":3}</json>', '{"c":3}'],
      ['text', '}'],
    ],
  },
  {
    says: 'a fence line ends it as prose',
    options: prose,
    expect: [
      ['text', '{"a": [\n'],
      ['fence', `${T}\n{"b":2}\n${T}\n`, '{"b":2}'],
      ['text', ']}'],
    ],
  },
  {
    says: 'a fence line inside one of its strings ends it too',
    options: prose,
    expect: [
      ['text', '{"a": "\n'],
      ['fence open', `${T}\n{"b":2}`, '{"b":2}'],
    ],
  },
  {
    says: 'after a raw LF in a string, tag openers in strings end it too',
    options: prose,
    expect: [
      ['text', '{"a": "x\ny '],
      ['tag json', '<json>{}</json>', '{}'],
      ['text', '"}'],
    ],
  },
  {
    says: 'a raw LF in a string, then a line start, ends it: a torn line must not swallow the next',
    expect: [
      ['text', '{"a":"to\n'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'an object over several lines is cut whole',
    expect: [
      ['object', '{\n"a": [\n{"b":1}\n]\n}'],
      ['blank', '\n'],
    ],
  },
  {
    says: 'at the end of input it is open',
    options: objectsOnly,
    expect: [
      ['text', 'x '],
      ['object open', '{"a":{"b":1}'],
    ],
  },
  {
    says: 'an undecided brace at the end is text',
    options: objectsOnly,
    expect: [['text', 'x { ']],
  },
]

export const limitRules: readonly Rule[] = [
  {
    says: 'a line of maxFrame bytes, LF included, is a line',
    options: { ...linesOnly, maxFrame: 8 },
    expect: [['line', '{"a":1}\n', '{"a":1}']],
  },
  {
    says: 'a longer line is let go in pieces, and the next one is cut',
    options: { ...linesOnly, maxFrame: 8 },
    expect: [
      ['text !FRAME_TOO_LONG', '{"a":"12'],
      ['text', '34567890'],
      ['text', '"}\n'],
      ['line', '{"a":1}\n', '{"a":1}'],
    ],
  },
  {
    says: 'a tag block that is too long is skipped through the next closer',
    options: { ...tagsOnly, maxFrame: 20 },
    expect: [
      ['text !FRAME_TOO_LONG', '<json>{"a":"67890123'],
      ['text', '4567890</json>'],
      ['tag json', '<json>{"a":1}</json>', '{"a":1}'],
    ],
  },
  {
    says: 'a tag block that is too long is skipped to the next opener',
    options: { ...tagsOnly, maxFrame: 20 },
    expect: [
      ['text !FRAME_TOO_LONG', '<json>{"a":"67890123'],
      ['text', '4567890"'],
      ['tag json', '<json>{"a":1}</json>', '{"a":1}'],
    ],
  },
  {
    says: 'a tag block at the limit ends at its first in-string closer',
    options: { ...tagsOnly, maxFrame: 22 },
    expect: [
      ['tag json', '<json>{"a}</json>', '{"a}'],
      ['text', ' "and more and more'],
    ],
  },
  {
    says: 'a fence that is too long is skipped through its closer',
    options: { ...fencesOnly, maxFrame: 16 },
    expect: [
      ['text !FRAME_TOO_LONG', `${T}json\n{"a":11,`],
      ['text', `"b":2}\n${T}\n`],
      ['fence', `${T}\n{}\n${T}\n`, '{}'],
    ],
  },
  {
    says: 'a fence whose limit ends its first line is skipped to its closer, whatever the chunks',
    options: { ...fencesOnly, maxFrame: 4 },
    expect: [
      ['text !FRAME_TOO_LONG', `${T}\n`],
      ['text', `\n${T}`],
      ['text', '\n'],
      ['fence open', T, ''],
    ],
  },
  {
    says: 'an object that is too long is let go, and scanning goes on in place',
    options: { ...objectsOnly, maxFrame: 12 },
    expect: [
      ['text !FRAME_TOO_LONG', '{"a":1,"b":2'],
      ['text', ',"c":'],
      ['object attached broken@24', '{"d":4}'],
      ['text', '}'],
    ],
  },
  {
    says: 'a think block that is too long still hides',
    options: { ...prose, maxFrame: 16 },
    expect: [
      ['text !FRAME_TOO_LONG', '<think>{"a":1} {'],
      ['text', '"b":2}</think>'],
      ['object', '{"c":3}'],
    ],
  },
  {
    says: 'a think block that is too long and never ends is not read again',
    options: { ...prose, maxFrame: 16 },
    expect: [
      ['text !FRAME_TOO_LONG', '<think>{"a":1} {'],
      ['text', '"b":2}'],
    ],
  },
  {
    says: 'what has not ended when all of maxFrame is there is too long, also at the end of input',
    options: { ...linesOnly, maxFrame: 7 },
    expect: [['text !FRAME_TOO_LONG', '{"a":1}']],
  },
  {
    says: 'maxFrame counts the original bytes, escapes included',
    options: { ...linesOnly, maxFrame: 10 },
    expect: [
      ['text !FRAME_TOO_LONG', '{"a"\x1b[1m:1'],
      ['text', '}\n'],
      ['line', '{"a":123}\n', '{"a":123}'],
    ],
  },
  {
    says: 'escapes behind the end of what was too long are not part of it',
    options: { ...linesOnly, maxFrame: 8 },
    expect: [
      ['text !FRAME_TOO_LONG', '{"a":"12'],
      ['text', '3"}\n'],
      ['blank', '\x1b[0m'],
      ['line', '{"a":1}\n', '{"a":1}'],
    ],
  },
  {
    says: 'a closer across the limit of a tag block is still its closer',
    options: { ...tagsOnly, maxFrame: 19 },
    expect: [
      ['text !FRAME_TOO_LONG', '<json>{"a":1}</json'],
      ['text', '>'],
      ['tag json', '<json>{"a"}</json>', '{"a"}'],
    ],
  },
  {
    says: 'an opener across the limit of a tag block is judged anew',
    options: { ...tagsOnly, maxFrame: 19 },
    expect: [
      ['text !FRAME_TOO_LONG', '<json>{"a":"123'],
      ['tag json', '<json>{"a"}</json>', '{"a"}'],
    ],
  },
  {
    says: 'a fence whose first line is longer than maxFrame is none',
    options: { ...fencesOnly, maxFrame: 8 },
    expect: [['text', `${T}json5\n{}\n`]],
  },
]

export const escapeRules: readonly Rule[] = [
  {
    says: 'CSI, OSC, DCS and two-byte sequences are removed before scanning',
    options: linesOnly,
    expect: [
      ['blank', '\x1b[0m\x1b]0;title\x07\x1bP1$r\x1b\\\x1b7\x1b(B'],
      ['line', '{"a":\x1b[1;31m1\x1b[0m}\n', '{"a":\x1b[1;31m1\x1b[0m}'],
      ['blank', '\x1b[?25h'],
      ['line', '{"b":\x1b[38:5:1m2}\x1b[K\n', '{"b":\x1b[38:5:1m2}'],
    ],
  },
  {
    says: 'the text of a PTY frame is without them',
    options: { ...linesOnly, channel: 'pty' },
    expect: [
      ['blank', '\x1b[0m'],
      ['line', '{"a":\x1b[1;31m1\x1b[0m}\x1b[K\r\n', '{"a":1}'],
    ],
  },
  {
    says: 'on a PTY, C1 controls that introduce sequences are removed with them, the others are text',
    options: { ...linesOnly, channel: 'pty' },
    expect: [
      [
        'line',
        '{"a":"\u009b31mx\u0085\u0084\u0092y\u009d0;t\u009cz\u0090q\u001b\\"}\n',
        '{"a":"x\u0085\u0084\u0092yz"}',
      ],
    ],
  },
  {
    says: 'in a pipe every C1 control is text, also behind an ESC',
    options: linesOnly,
    expect: [
      ['line', '{"a":"it\u0092s \u009b31m"}\n', '{"a":"it\u0092s \u009b31m"}'],
      ['text', '\u009b1m\n\x1b]0;t\u009c\x07'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'a lone continuation byte is not a control',
    options: linesOnly,
    expect: [['line !INVALID_UTF8@6', bytes('{"a":"', 0x9b, '31m"}\n'), '{"a":"\ufffd31m"}']],
  },
  {
    says: 'the six characters of an escaped ESC are never removed',
    options: linesOnly,
    expect: [['line', '{"a":"\\u001b[0m"}\n', '{"a":"\\u001b[0m"}']],
  },
  {
    says: 'an LF ends an unfinished OSC and is kept',
    options: linesOnly,
    expect: [
      ['blank', '\x1b]0;ti{"a":1}\n'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'an ESC ends an unfinished OSC and starts anew',
    options: linesOnly,
    expect: [
      ['blank', '\x1b]8;;http://x\x1b[1m'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'a byte that fits no CSI ends it and is read',
    options: linesOnly,
    expect: [
      ['blank', '\x1b[12\n'],
      ['line', '{"b":2}\n', '{"b":2}'],
    ],
  },
  {
    says: 'an unfinished sequence at the end is removed',
    options: linesOnly,
    expect: [
      ['line', '{"b":2}', '{"b":2}'],
      ['blank', '\x1b[3'],
    ],
  },
  {
    says: 'a tag and a fence are seen through the escapes in them',
    expect: [
      ['text', 'a '],
      ['tag json', '<js\x1b[1mon>{"a":1}</js\x1b[0mon>', '{"a":1}'],
      ['blank', '\x1b[m\n'],
      ['fence json', `\`\x1b[2m${T}json\n{}\n${T}\x1b[0m\`\n`, '{}'],
    ],
  },
  {
    says: 'sequences before and after the text of a block are no part of it, those inside are',
    options: prose,
    expect: [
      ['tag json', '<json>\x1b[1m{"a":\x1b[2m1}\x1b[0m</json>', '{"a":\x1b[2m1}'],
      ['blank', '\x1b[m '],
      ['object', '{"b":\x1b[2m1}'],
      ['blank', '\x1b[0m\n'],
    ],
  },
]

export const textRules: readonly Rule[] = [
  {
    says: 'bad bytes become U+FFFD, and the note says where the first one was',
    options: prose,
    expect: [
      ['text', bytes('x', 0xff, ' ')],
      ['object !INVALID_UTF8@9', bytes('{"a":"', 0xe2, 0x82, '"}'), '{"a":"\ufffd"}'],
    ],
  },
  {
    says: 'one range between two payloads, blank if it holds only blanks, BOMs and NULs',
    options: prose,
    expect: [
      ['object', '{"a":1}'],
      ['blank', ' \r\n\t\0\ufeff\n'],
      ['object', '{"a":2}'],
      ['text', ' .\n\n. '],
      ['object', '{"a":3}'],
    ],
  },
  { says: 'nothing gives nothing', expect: [] },
]

export const documentRules: readonly Rule[] = [
  {
    says: 'an object at the first non-blank byte is marked, later ones are not',
    options: document,
    expect: [
      ['blank', '\ufeff \n'],
      ['object first', '{"a":1}'],
      ['blank', '\n'],
      ['object', '{"b":2}'],
    ],
  },
  {
    says: 'the gate of a document is wider',
    options: document,
    expect: [
      ['object first', '{}'],
      ['text', ' {} [1]'],
    ],
  },
  {
    says: 'a document may start with a comment, an identifier or an apostrophe',
    options: document,
    expect: [['object first', "{/* x */ 'a':1, b:2}"]],
  },
  {
    says: 'a document may start with a quote that was escaped',
    options: document,
    expect: [['object first', '{\\"a\\":1}']],
  },
  {
    says: 'a document may start with a hash',
    options: document,
    expect: [['object first', '{# x\na:1}']],
  },
  {
    says: 'a document may be an array of strings in curly quotes',
    options: document,
    expect: [['object first', '[\u201ca\u201d]']],
  },
  {
    says: 'a document with a bracket too many is broken',
    options: document,
    expect: [
      ['object first broken@7', '{"a":1}'],
      ['text', '}, "b": {"c":1}'],
    ],
  },
  {
    says: 'a document may be an array of scalars',
    options: document,
    expect: [
      ['object first', '[ -1, "a"]'],
      ['blank', ' '],
    ],
  },
  {
    says: 'closed think blocks before a document are passed over',
    options: document,
    expect: [
      ['text', '<think>x</think>\n'],
      ['object first', '{}'],
    ],
  },
  {
    says: 'a think block that was too long and closed is passed over, too',
    options: { ...document, maxFrame: 16 },
    expect: [
      ['text !FRAME_TOO_LONG', '<think>123456789'],
      ['text', '0</think>'],
      ['object first', '{}'],
    ],
  },
  {
    says: 'a whole input of one scalar is a document when any root will do',
    options: any,
    expect: [
      ['blank', ' '],
      ['object first', '"a \\" {\\"b\\":1}"'],
      ['blank', '\n'],
    ],
  },
  {
    says: 'a number with something after it is prose',
    options: any,
    expect: [
      ['text', '12 '],
      ['object', '{"a":1}'],
    ],
  },
  {
    says: 'a number alone is a document',
    options: any,
    expect: [
      ['object first', '-1.5e+3'],
      ['blank', '\n'],
    ],
  },
  {
    says: 'a string with a raw LF in it is prose',
    options: any,
    expect: [
      ['text', '"a\n'],
      ['object', '{"b":1}'],
      ['text', '"'],
    ],
  },
]
