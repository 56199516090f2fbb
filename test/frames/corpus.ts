import type { CutOptions } from './reference.ts'

/** A hostile input. Without options it is cut as frames() does by default. */
export interface Row {
  readonly id: string
  readonly input: string | Buffer
  readonly options?: CutOptions
}

const T = '```'
const W = '~~~'
const NUL = '\0'
const BOM = '\ufeff'

/** As values() cuts when it was given neither tag nor lines. */
const asValues: CutOptions = { lines: false, needsPayload: true, document: 'object' }
const asSchema: CutOptions = { ...asValues, loose: true }
const asAny: CutOptions = { ...asValues, document: 'any' }
const prose: CutOptions = { lines: false }

function bytes(...parts: readonly (string | number)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
}

/** Numbers the inputs of one group: `B5-fence-1`, `B5-fence-2`, … */
function group(id: string, inputs: readonly (string | Buffer)[], options?: CutOptions): Row[] {
  return inputs.map((input, index) => ({ id: `${id}-${index + 1}`, input, ...(options && { options }) }))
}

function sameIn(rows: readonly Row[], id: string, options: CutOptions): Row[] {
  return rows.map((row) => ({ ...row, id: `${row.id} ${id}`, options: { ...options, ...row.options } }))
}

// A. Places where a cut between two chunks hurts.
const cuts = group('A3-cut', [
  '{"a":"é€😀"}\n',
  '{"a":"\\ud83d\\ude00"}\n',
  '{"a":"\\\\\\"}\\\\"}\n{"b":2}\n',
  'x <json>{"a":1}</json> y',
  `x\n${T}json\r\n{"a":1}\r\n${T}\r\ny`,
  '{"a":1}\r\n{"b":2}\r\n',
  '{"a":\x1b[1;31m1\x1b[0m}\n',
  '<think>a</think>{"a":1}',
  '<<json><json>>{}</json></json',
  '</jso</json>n><json</json><json>{}</json',
])

// B1 to B4. Tags.
const tags: Row[] = [
  ...group('B1-open', [
    '<json>{"a":1',
    '<json>{"a":1}',
    '<json>{"a":1}</jso',
    '<json>',
    '<json> \n ',
    '<json>\n[1,',
    '<json>hello {"a":1}',
    '<json>hello "</json> {"a":1}',
    'a <json> b <json> c "<json> {"a":1}',
    '<json>x\n"<json>y\n"<json>{"a":1}',
    '<json>{"a":"\\',
    '<json>{"b":"par<json>{"b":"fu',
  ]),
  ...group('B2-several', [
    '<json>{"a":1}</json><json>{"a":2}</json>',
    '<json>{"a":1}</json>\n\n<json>\n{"a":2}\n</json>\n',
    '<json>{"a":1}</json> then <json>{"a":2',
  ]),
  ...group('B3-in-string', [
    '<json>{"a":"<json>"}</json>',
    '<json>{"a":"</json>"}</json>',
    '<json>{"a":"</json><json>"}</json>',
    '<json>{"a":"x</json>',
    '<json>{"a":"x</json> and "y</json>',
    '<json>{"a":"x</json>\n</json>',
    '<json>{"a":"x\n</json>"}</json>',
    '<json>{"a":"b</json>" "c\nd</json>',
    '<json>{"a":"b</json>"\n"c</json>\nd</json>',
    '<json>{"a":"<json>b</json>"\n"c</json>\nd</json>',
    '<json>{"a":"\\"</json>\\""}</json>',
    '<json>\\"</json>\\"</json>',
    '<json>"\\\\"</json>',
    '<json>"\\\\\\"</json>"</json>',
    '<json>{"b":"par<json>{"b":"full"}</json>',
    '<json>{"b":"p<json>q<json>{"b":"full"}</json> rest\n',
    '<json>{"b":"use <json> tags"}</json>',
    '<json>{"b":"odd <json> tags</json>\n{"c":1}\n',
    '<json>{"a":"odd}</json> "<json>{"b":2}</json>',
    '<json>{"a":"odd}</json> <json>"{"b":2}</json>',
    '<think><json>{"a":1}</json></think><json>{"b":2}</json>',
    `${T}\n<json>{"a":1}</json>\n${T}\n<json>{"b":2}</json>`,
    '{"a":"<json>{}</json>"}\n',
    '"<json>{"a":1}</json>"',
    "<json>{'a':'it\"s'}</json> x \"",
  ]),
  ...group('B4-nested', [
    '<json><json>{}</json></json>',
    '<json>{"a":<json>{"b":1}</json>}</json>',
    '<JSON >{"a":1}</JSON >',
    '<json/>{"a":1}',
    '</json>',
    '</json>{"a":1}</json>',
    '<jsonl>{"a":1}</jsonl>',
    '<json><json><json>',
    '<json>1</json></json></json>',
    '< json>{"a":1}</ json>',
  ]),
  ...group('B4-names', ['<a>1</b><b>2</a></b>', '<b>{<a>{}</a>}</b>', '<a>{"x":"<b>{}</b>"}</a>'], {
    tags: ['a', 'b'],
  }),
  { id: 'B4-named-think', input: '<think>{"a":1}</think>\n{"b":2}\n', options: { tags: ['think'] } },
]

const payloads = group(
  'B4-payload',
  [
    'use <json> tags',
    'use `<json>` tags: <json>{"a":1}</json>',
    '<json>x<json>{"a":1}</json>',
    '<json>{"a":1<json>x{"b":2}</json>',
    '<json>{"a":"odd</json> "<json> no {"b":2}',
    `<json>\n${T}json\n{"a":1}\n${T}\n</json>`,
    `<json>\n${W}\n{"a":1}\n${W}\n</json>`,
    '<json>``{"a":1}``</json>',
    '<json>``',
    `<json>${T}`,
    '<json>\n\t ',
    '<json><result>{"a":1}</result></json>',
    '<json> "{"a":1}"</json>',
    `${BOM}<json>${BOM}{"a":1}</json>`,
    '<json>{"b":"odd <json> tags</json>\n{"c":1}\n',
  ],
  asValues,
)

// B5, B6. Fences: CommonMark, quotes, lists, and what only looks like one.
const fences = group('B5-fence', [
  `${T}\n<\n >\n${T}`,
  `${W}\n<\n >\n${W}`,
  '``\nfoo\n``\n',
  `${T}\naaa\n${W}\n${T}`,
  `${W}\naaa\n${T}\n${W}`,
  `${T}\`\naaa\n${T}\n${T}\`\`\`\n`,
  `${W}~\naaa\n${W}\n${W}~`,
  T,
  `${T}\n\n${T}\naaa`,
  `> ${T}\n> aaa\n\nbbb`,
  `${T}\n\n  \n${T}\n`,
  `${T}\n${T}\n`,
  ` ${T}\n aaa\naaa\n${T}\n`,
  `  ${T}\naaa\n  aaa\naaa\n  ${T}\n`,
  `   ${T}\n   aaa\n    aaa\n  aaa\n   ${T}`,
  `    ${T}\n    aaa\n    ${T}\n`,
  `${T}\naaa\n  ${T}\n`,
  `   ${T}\naaa\n  ${T}\n`,
  `${T}\naaa\n    ${T}\n`,
  `${T} ${T}\naaa\n`,
  `${T}\`\`\`\naaa\n${T}\`\`\` \`\`\n`,
  `foo\n${T}\nbar\n${T}\nbaz`,
  `foo\n---\n${W}\nbar\n${W}\n# baz`,
  `${T}json\n{"a":1}\n${T}\n`,
  `${W}    json startline=3 $%@#$\n{}\n${W}~~~~\n`,
  `${T}\`;\n${T}\`\n`,
  `${T} aa ${T}\nfoo\n`,
  `${W} aa ${T} ${W}\nfoo\n${W}\n`,
  `${T}\n${T} aaa\n${T}\n`,
  `- ${T}json\n  {"a":1}\n  ${T}\n`,
  `1. ${T}json\n   {"a":1}\n   ${T}\n2. x`,
  `> > ${T}json\n> > {\n> >  "a":1}\n> > ${T}\n`,
  `> - ${T}json\n>   {"a":1}\n>   ${T}\n`,
  `- > ${T}json\n  > {"a":1}\n  > ${T}\n`,
  `* + ${T}\n    {"a":1}\n    ${T}\n`,
  `>${T}json\n>{"a":1}\n>${T}\n{"b":2}\n`,
  `> ${T}json\n> {"a":1}\n{"b":2}\n`,
  `> ${T}json\n{"b":2}\n`,
  `${'> '.repeat(32)}${T}\n${'> '.repeat(32)}x\n`,
  `${'> '.repeat(33)}${T}\n${'> '.repeat(33)}x\n`,
  `\t${T}\n{"a":1}\n${T}\n`,
])

const fenceOddities: Row[] = [
  ...group('B5-odd', [
    `${T}JSON5\n{a:1}\n${T}`,
    `${T}json\n{"a":1}\n${T}json\n{"b":2}\n${T}\n`,
    `${T}json\r\n{"a":1}\r\n${T} \t\r\n{"b":2}\r\n`,
    `${T}json\n{"a":1}\n${T}x\n${T}`,
    `${T}json {"a":1} ${T}`,
    `${T}json\n{"a":1}${T}\n`,
    `- ${T}\n- ${T}\n`,
    `-  ${T}\n   a\n      ${T}\n`,
    `-     ${T}\n      a\n`,
    `123456789. ${T}\nx\n${T}`,
    `1234567890. ${T}\nx\n${T}`,
    `1.${T}\n-${T}\n+\t${T}\nx\n${T}`,
    `   >   > ${T}\n>> a\n   >   > b\n>> ${T}\nx`,
    `> > ${T}\n> a\n> > ${T}\n`,
    `    > ${T}\n> a`,
    `>     ${T}\n> a`,
    `> ${T}\n    > a\n> ${T}`,
    `> ${T}\n> a\n  `,
    `> ${T}\n> a\n\n> ${T}\n`,
    `${BOM}${T}json\n{"a":1}\n${T}\n`,
    `${NUL}${T}json\n{"a":1}\n${T}\n`,
    `${T}json\n{"a":"${T}"}\n${T}\n`,
    `${T}é\ud83d\ude00\n{}\n${T}\n`,
    `</json>${T}\n{"a":1}\n`,
    `x\r${T}\n{"a":1}\n`,
  ]),
  ...group('B5-bytes', [
    bytes(T, 'js', 0xff, 'on\n{}\n', T, '\n'),
    bytes(T, 'json\n{"a":"', 0xc3, '\n"}\n', T, '\n'),
    bytes('> ', T, '\n> ', 0xe2, 0x82, '\n> ', 0xac, '\n'),
  ]),
  ...group('B6-fence', [
    `{"a":"${T}json\\n{}\\n${T}"}\n`,
    `use ${T}json fences and \`code\`\n{"a":1}\n`,
    `${T}json\n${T}\n{"a":1}\n`,
    `${T}bash\necho '{"a":1}'\n${T}\n${T}json\n{"b":2}\n${T}\n`,
    `{"a":"x\n${T}\n{"b":2}\n${T}\n"}`,
    `{"a": [\n> ${T}json\n> {}\n> ${T}\n]}`,
    `{"a": [\n${T}no\`fence\n]}`,
    `{"a": "\n${T}no\`fence"}\n`,
    `{"a": "\n${T}\n`,
    `{"a": "\n${T}`,
    `[{"a": 1},\n  ${W}\n{}\n`,
  ]),
]

// B7, B8. Braces in prose.
const objects = group('B7-prose', [
  'run {cmd} now',
  'fn() { }',
  '{{mustache}} {{ x }}',
  '{}[]{ } [ ]',
  'a {"b" c',
  'f({"a":1})',
  '{{"a":1}}',
  '{[{"a":1}]}',
  'x {"a":1}{"b":2} y',
  'x {\n  "a": {\n    "b": [1, 2]\n  }\n}\ny',
  'x [{"a":1},{"b":2}] y',
  'x [[{"a":1}]] y',
  'x ["a",{"b":1}] y',
  'x {"a":"}"} y',
  'x {"a":"\\"}"} y',
  'x {"a":1] y',
  'x {\\"a\\":1} y',
  'x {"a":\\"1} y"}',
  'x {"a":1 <json>{"b":2}</json>}',
  'x {"a":"<json>"} {"b":"</json>"}',
  'x {"a":"b\n<json>{"c":1}</json>"}',
  'x {"a":"b\nc"} {"d":1}',
  'x {"a":"b\n{"c":1}\n',
  '{"a":"b\n{"c":1}\n{"d":2}\n',
  '{"a":"b\n\0{"c":1}\n',
  `{"a":"b\n${BOM}{"c":1}\n`,
  '{"a":"b\n {"c":1}\n',
  '{"a":[\n{"b":1},\n{"c":2}\n]}\n',
  '{"a":1',
  'x {"a":"b',
  'x {',
  'x {  \n',
  'x [ \n{',
  '{"a":<think>1}\n',
])

const gates: Row[] = [
  ...group(
    'B7-loose',
    [
      "{'a':1} {a:1} {a :1} {$a_1\n:1} {1a:1} {a b:1} {a",
      '{a:{b:1}',
      "['a'] [a:1] [{a:1}]",
      '{é:1}',
      '{a{b:1}}',
      '{a\n{"b":1}',
      'x {a',
      'x {a ',
    ],
    { ...prose, loose: true },
  ),
  ...group(
    'B8-document',
    [
      '{}',
      ' {} ',
      '[]',
      '[1,2]',
      '{"a":1}',
      '{"a":1} x',
      '{"a":1}{"b":2}',
      'x {}',
      '{/*c*/"a":1}',
      "{'a':1}",
      '{a:1}',
      '{a}',
      '[a]',
      '[-1]',
      '[true]',
      '[ \n"x"]',
      `${BOM}{}`,
      `\n${BOM}\t{}`,
      `${NUL}{}`,
      '<think>a</think>{}',
      ' <think>a</think>\n<thinking>b</thinking>\n{}',
      '<think>a</think> x {}',
      '<think>{}',
      '{"a":1',
      '{',
      '{{"a":1}}',
      '"x"',
      '12',
      '<json>{}</json>',
      `${T}\n{}\n${T}`,
      '{"a": <json>{}</json>',
    ],
    asSchema,
  ),
  ...group(
    'B8-scalar',
    [
      '"a"',
      '"a" x',
      '"a',
      '"a\\"',
      '"a\\\\"',
      '"a\nb"',
      '"<json>{}</json>"',
      '"<json>{}</json>" x',
      '12',
      '12 ',
      '12 x',
      '-1.5e+3\n',
      'true',
      'null\r\n',
      'hello',
      'true {"a":1}',
      '<think>a</think>\n12',
      '<think>12',
      `${BOM}12${BOM}`,
      '12\0',
      `- ${T}\n{}`,
      '',
      ' \n',
    ],
    asAny,
  ),
]

// B9, B10. Line ends, BOM, NUL.
const lines = group('B9-line', [
  '10%\r20%\r100%\n{"a":1}\n',
  '\r{"a":1}\n',
  '{"a":1}\r',
  '{"a":1}\r\r\n',
  '\n\n{"a":1}\n\n\n{"b":2}',
  '{"a":"\u2028\u2029"}\n',
  '{"a":1} \t\n[1]\t\r\n',
  '{"a":1}}\n',
  '{"a":1}]\n{"b":2\n',
  '{"a":1} trailing\n{"b":2}\n',
  '{"a":1} trailing {"c":3}\n{"b":2}\n',
  '{cmd}\n{"a":1}\n',
  '{\n}\n[\n]\n',
  '[\n{"a":1}\n]\n',
  '{"a":1}\n{"b":',
  '{"a":1}\n{"b":2}\n\n',
  'log {"a":1}\n{"b":2}\nlog\n',
  '{"a":1}\0\0\n',
  `${BOM}{"a":1}\n${BOM}{"b":2}\n`,
  `${BOM}${BOM}${NUL}{"a":1}`,
  `x${BOM}{"a":1}\n`,
  `${NUL}${NUL}\n${NUL}{"a":1}\n`,
  ` ${NUL}{"a":1}\n`,
  'a\0b\n{"a":"\0"}\n',
  `{"a":1}${BOM}\n`,
  '{"a":1}\n<think>\n{"b":2}\n</think>\n{"c":3}\n',
  '{"a":1}\n<json>{"b":2}</json>\n{"c":3}\n',
  `{"a":1}\n${T}\n{"b":2}\n${T}\n{"c":3}\n`,
  '{"a": <json>{"b":2}</json>\n',
  '{"a":1}\n{"b":2} <json>\n{"c":3}\n',
])

// Think.
const think = group('B3-think', [
  '<think>{"a":1}</think>',
  '<think>{"a":1}</think>{"b":2}',
  '<think>\n{"a":1}\n</think>\n{"b":2}\n',
  '<thinking>x</think>y</thinking>{"a":1}',
  '<think>x</thinking>{"a":1}',
  'a <think>{"a":1}</think>',
  'a\n \t<think>{"a":1}</think>{"b":2}',
  `${BOM}${NUL} <think>{"a":1}</think>{"b":2}`,
  '</think>{"a":1}',
  '<think><think></think>{"a":1}</think>',
  '<think>a</think><think>{"a":1}</think>',
  '<think>a</think>\n<think>{"a":1}</think>',
  '<think>{"a":1}\n<think>{"b":2}\n<json>{"c":3}</json>',
  `<think>\n${T}json\n{"a":1}\n${T}\n`,
  '<think>\n{"a":1}\n{"b":',
  '<think><json>x <think>{"a":1}',
  '<THINK>{"a":1}</THINK>',
  '<think >{"a":1}</think>',
  '{"a":1}\n<think>"</think>\n{"b":2}\n',
  '{"a": "x\n<think>"}</think>{"b":2}',
  '<json>{"a":"\n<think></json>\n"}</json></think>',
  `${T}\n<think>\n${T}\n{"a":1}`,
  '<thin',
  '<think',
  '<think>',
])

// B11, B12. Terminals.
const escapes: Row[] = [
  ...group('B12-escape', [
    '\x1b[31m{"a":1}\x1b[0m\n',
    '{"a":\x1b[?25l1}\n',
    '\x1b[38:2::1:2:3m{"a":1}\n',
    '\x1b]0;title\x07{"a":1}\n',
    '\x1b]8;;http://x\x1b\\{"a":1}\x1b]8;;\x1b\\\n',
    '\x1b]52;c;e30=\x07{"a":1}\n',
    '\x1bP1;2|{"x":1}\x1b\\{"a":1}\n',
    '\x1bXsos\x1b\\\x1b^pm\x1b\\\x1b_apc\x1b\\{"a":1}\n',
    '\u009b31m{"a":1}\u009b0m\n',
    '\u009d0;t\u009c{"a":1}\n',
    '\u009d0;t\x07{"a":1}\u0090x\u009c\n',
    '\u0098s\x1b\\\u009ep\u009c\u009fa\x07{"a":1}\n',
    '\u0084\u0085\u0086{"a":"\u0085"}\n',
    '\x1b7\x1b8\x1b=\x1b>\x1bM\x1bc{"a":1}\n',
    '\x1b(B\x1b)0\x1b#8\x1b %G{"a":1}\n',
    '\x1b(\n{"a":1}\n',
    '\x1b\n{"a":1}\n',
    '\x1b\x1b\x1b[m{"a":1}\n',
    '\x1b]0;t\n{"a":1}\n',
    '\x1b]0;t\x1b[m{"a":1}\n',
    '\x1b]0;t\x1b',
    '\x1b]0;t\u009c\x1b[',
    '\x1b[1;\n{"a":1}\n',
    '\x1b[1\x1b[2m{"a":1}\n',
    '\x1b[1é{"a":1}\n',
    '\x1b[1 q\x1b[!p{"a":1}\n',
    '\x1b[{"a":1}\n',
    '{"a":"\\u001b[31m"}\n',
    '{"a":1}\x1b[0m\r\n',
    '{"a":1}\r\x1b[0m\n',
    '{"a":1}\n\x1b[0m{"b":2}\n\x1b[0m',
    '\x1b[0m',
    '<js\x1b[1mon>{"a":1}</json\x1b[m>',
    `\`\x1b[1m\`\`json\n{"a":1}\n\`\`\x1b[m\`\n`,
    '<th\x1b[1mink>{"a":1}</think\x1b[m>{"b":2}',
    '{"a":"\\\x1b[1m""}\n',
    'x\x1b[1m {\x1b[2m \x1b[3m"a":1\x1b[4m}\x1b[5m y',
    '$ codex exec\r\n{"a":1}\r\n{"b":"wrap\r\nped"}\r\n',
    '\x1b[2K\r\x1b[1A{"a":1}\r\n',
  ]),
  ...group('B12-bytes', [
    bytes('{"a":"', 0x9b, '31m"}\n'),
    bytes('{"a":"', 0xc2, '"}\n'),
    bytes('{"a":"x', 0xc2),
    bytes('{"a":"', 0xc2, 0xc2, 0x9b, 'm"}\n'),
    bytes('{"a":"', 0xc3, 0x9b, '"}\n'),
    bytes('{"a":"', 0xc3, '\x1b[m', 0xa9, '"}\n'),
    bytes(0xc2, '\x1b[m', 0x9b, '31m{"a":1}\n'),
    bytes('\x1b]0;', 0xc2, 'x', 0xc2, 0x9c, '{"a":1}\n'),
    bytes(0xef, 0xbb, '{"a":1}\n'),
    bytes(0xef, '\x1b[m', 0xbb, 0xbf, '{"a":1}\n'),
    bytes('{"a":"', 0xff, 0xfe, 'b', 0x80, '"}\n'),
    bytes('{"a":"', 0xed, 0xa0, 0xbd, '"}\n'),
    bytes('{"a":"', 0xc0, 0xaf, '"}\n'),
    bytes('{"a":"', 0xf4, 0x90, 0x80, 0x80, '"}\n'),
    bytes('<json>{"a":"', 0xe2, 0x82, '</json>'),
    bytes('<json>{"a":"', 0xf0, 0x9f, 0x98),
    bytes('x', 0xff, '\n', 0xff, '{"a":1}\n'),
  ]),
  { id: 'B12-endless-osc', input: `\x1b]0;${'x'.repeat(5000)}\n{"a":1}\n` },
  { id: 'B12-endless-csi', input: `\x1b[${'1'.repeat(5000)}\n{"a":1}\n` },
]

// D. Limits, with small ones.
const long = '0123456789'.repeat(4)
const limits = [16, 24, 33].flatMap((maxFrame) =>
  group(
    `D1-limit-${maxFrame}`,
    [
      `{"a":"${long}"}\n{"b":2}\n`,
      `{"a":"${long}\n{"b":2}\n`,
      `<json>{"a":"${long}"}</json><json>{"b":2}</json>`,
      `<json>{"a":"${long}<json>{"b":2}</json>`,
      `<json>{"a":"</json>${long}<json>1</json>`,
      `<json>${' '.repeat(40)}{"a":1}</json>`,
      `${T}json\n{"a":"${long}"}\n${T}\n{"b":2}\n`,
      `${T}${long}\n{"a":1}\n${T}\n{"b":2}\n`,
      `> ${T}\n> ${long}\nx {"b":2}\n`,
      `x {"a":"${long}"} {"b":2}`,
      `x {${' '.repeat(40)}"a":1}`,
      `x [${'\n'.repeat(40)}{"a":1}]`,
      `<think>${long}</think>{"b":2}`,
      `<think>${long}\n{"b":2}\n`,
      `<think>{"b":2}\n`,
      `{"a":"\x1b[31m${long}\x1b[0m"}\n\x1b[1m{"b":2}\n`,
      `x {"a":"${long}\n${T}\n{"b":2}\n`,
    ],
    { maxFrame },
  ),
)

const repeated = ['{', '[', '"', '<json>', '</json>', '`', '~', '\\', '{"', '[{', '<', '\n{', '> ']
const hostile: Row[] = [
  ...repeated.map((piece) => ({ id: `D5-${JSON.stringify(piece)}`, input: piece.repeat(40) })),
  ...group('D3-depth', ['{"a":'.repeat(30), '['.repeat(30) + ']'.repeat(30), '[{"a":'.repeat(20)]),
]

const base = [...cuts, ...tags, ...fences, ...fenceOddities, ...objects, ...lines, ...think]

/** A sequence right behind what was too long belongs to the prose that follows, also when it comes alone. */
const behind: Row[] = [
  { id: 'D2-limit-behind', input: `> ${T}\n\u009b> ${T}\n`, options: { maxFrame: 4 } },
  { id: 'D2-limit-behind-line', input: '{"a":"long"\n\u001b[0mx {"b":2}\n', options: { maxFrame: 8 } },
]

/** Where one byte more or less decides: mutants of the scanner lived here. */
const edges: Row[] = [
  ...group('B5-fence-edge', [
    `> > ${T}json\n> > {"a":1}\n> > ${T}\n> x\n`,
    `> > ${T}json\n>> {"a":1}\n> > ${T}\n`,
    `> > ${T}json\n> {"a":1}\n> ${T}\n`,
    `   >    > ${T}json\n   >   > {"a":1}\n   >   > ${T}\n`,
    `> ${T}json\n    > {"a":1}\n> ${T}\n`,
    `>${T}json\n>{"a":1}\n>${T}\n`,
    `-   ${T}json\n    {"a":1}\n    ${T}\n`,
    `-    ${T}json\n     {"a":1}\n     ${T}\n`,
    `1.  ${T}json\n    {"a":1}\n       ${T}\n        ${T}\n`,
    `${T}json\n\n${T}`,
    `> ${T}json\n>\n> ${T}  `,
  ]),
  ...group('B4-tag-edge', [
    bytes('<json>', 0xff, '{"a":1}</json>'),
    bytes('<json>{"a":"', 0xc2, '"}</json>'),
    bytes('<json>{"a":"', 0xe0, 0xa0, '"}</json>'),
    bytes('<json>{"a":"', 0xf0, 0x9f, 0x98, '"}</json>'),
    bytes('{"a":"', 0xdf, 0xbf, 0x80, '"}\n'),
  ]),
  ...group(
    'B7-gate-edge',
    ['x {A: 1} y', 'x {Z:1} y', 'x {a:1} y', 'x {z:1} y', 'x {9:1} y', 'x {_:1} {$:1} y'],
    asSchema,
  ),
  ...group(
    'B8-scalar-edge',
    ['9', '0', '-9.5e9', 'a', 'z', 'true ', ' false', 'nullx', '"a" b', '12 3'],
    asAny,
  ),
  ...group('B10-bom-edge', [
    `${BOM}x`,
    bytes(0xef, 0xbb, 'x'),
    bytes('x\n', 0xbb, '{"a":1}\n'),
    bytes(0xef, '{"a":1}\n'),
  ]),
]

export const corpus: readonly Row[] = [
  ...edges,
  ...base,
  ...behind,
  ...payloads,
  ...gates,
  ...escapes,
  ...limits,
  ...hostile,
  ...sameIn(tags, 'as values', asValues),
  ...sameIn(think, 'as values', asSchema),
  ...sameIn(objects, 'as values', asAny),
]
