import { slow } from '../pace.ts'
import { casesOf, KINDS } from './corrupt.ts'

const FENCE = '```'
const ESC = '\u001b'

/** What comes out of a door: a value, or the code of a fault. */
export type Answer = { readonly value: unknown } | { readonly fault: string }

export interface Row {
  readonly text: string
  /** What a person reads in it; undefined if the rules for it are not settled, and the doors only agree. */
  readonly answer?: Answer | undefined
  /** The same where the last candidate is taken, if it is another one. */
  readonly last?: Answer | undefined
  /** What the text was before it was broken: it is read as that, or not at all. */
  readonly original?: unknown
}

type Group = readonly [answer: Answer, texts: readonly string[]]

/** Whole, as JSON.parse reads it. */
const good = [
  '{}',
  '[]',
  '{"a":1}',
  ' {"a":1} ',
  '{"a":1}\n',
  '[1,2]',
  '[1]',
  '["a","b"]',
  '[{"a":1},{"a":2}]',
  '[[1],[2]]',
  '{"a":{"b":{"c":[1,{"d":null}]}}}',
  '{\n  "a": 1,\n  "b": [\n    true\n  ]\n}',
  '{\r\n\t"a": 1\r\n}',
  '{"名前":"検査","emoji":"👩‍💻"}',
  '{"a":"it\u0092s"}',
  `{"a":"${Array.from({ length: 32 }, (_, index) => String.fromCharCode(0x80 + index)).join('')}"}`,
  '{"a":"\\u001b[0m"}',
  '{"a":"\\ud83d\\ude00"}',
  '{"a":"\\ud83d"}',
  '{"a":"a \\"b\\", c"}',
  '{"a":"C:\\\\new"}',
  '{"a":"}]{["}',
  '{"a":"it\'s // no /* comment */ # here"}',
  '{"a":"<think>"}',
  '{"a":"<think>x</think>"}',
  '{"a":"<json>"}',
  '{"a":"</json>"}',
  `{"a":"${FENCE}"}`,
  `{"a":"x\\n${FENCE}json\\ny"}`,
  '{"a":"~~~"}',
  '{"a":""}',
  '{"":1}',
  '{"a":1,"a":2}',
  '{"a":1.000000000000000005}',
  '{"a":-0.5e-3}',
  '{"a":12345678901234567890}',
  '{"response":"{\\"a\\":1}"}',
  '{"response":"{\\"a\\":1,}"}',
  '{"response":{"a":1}}',
  '{"response":"{\\"response\\":\\"{\\\\\\"a\\\\\\":1}\\"}"}',
  '{"response":"no payload"}',
  '5',
  '-0.5',
  '"x"',
  'true',
  'null',
]

/** A payload among other things. */
const found: readonly Group[] = [
  [
    { value: { a: 1 } },
    ['\ufeff{"a":1}', '{"__proto__":{"x":1},"a":1}', '{"constructor":{"prototype":{"x":1}},"a":1}'],
  ],
  [
    { value: { a: 1 } },
    [
      'Here: {"a":1}',
      'Here: {"a":1} and more.',
      '{"a":1} and more.',
      '{"a":1}\n\nDone.',
      'Here: {"a":1,}',
      'Here: {"a":1,} and more.',
      'A {cmd} and {"a":1}',
      '[INFO] x {"a":1}',
      '<json>{"a":1}</json>',
      'Sure: <json>{"a":1,}</json> bye',
      'Sure: <json>{"a":1}',
      'use <json> tags: {"a":1}',
      '<JSON>{"a":1}</JSON>',
      '<json/>{"a":1}',
      `${FENCE}json\n{"a":1}\n${FENCE}`,
      `${FENCE}\n{"a":1}\n${FENCE}`,
      `${FENCE}JSON5\n{a:1}\n${FENCE}`,
      `Sure:\n${FENCE}json\n{"a":1,}\n${FENCE}\nBye.`,
      `~~~json\n{"a":1}\n~~~`,
      `~~~~\n{"a":1}\n~~~~`,
      `${FENCE}json {"a":1}${FENCE}`,
      `${FENCE}json {"a":1,}${FENCE}`,
      `${FENCE}json\n{"a":1}`,
      `> ${FENCE}json\n> {"a":1}\n> ${FENCE}`,
      `<json>\n${FENCE}json\n{"a":1}\n${FENCE}\n</json>`,
      'Well <think>{"a":9}</think> {"a":1}',
      '<think>{"a":9}</think>{"a":1}',
      '<thinking>\n{"a":9}\n</thinking>\n\n{"a":1}',
      '<think>a</think><think>{"a":9}</think>{"a":1}',
      '{"a":1}<think>{"a":9}</think>',
      '<think>{"a":1}',
      '</think>{"a":1}',
      `${ESC}[32m{"a":1}${ESC}[0m`,
      `{${ESC}[1m"a"${ESC}[0m:1}`,
      '\0{"a":1}',
      'json\n{"a":1}',
      'json{"a":1}',
      '**{"a":1}**',
      '({"a":1})',
      'x = {"a":1};',
      'data: {"a":1}',
    ],
  ],
  [{ value: [{ a: 1 }] }, ['The list: [{"a":1}]', 'Sure: <json>[{"a":1}]</json>']],
  [
    { value: { a: 1 } },
    [
      `${FENCE}python\n{"a":1}\n${FENCE}`,
      `${FENCE}text\nHere: {"a":1}\n${FENCE}`,
      `ok ${FENCE}json\n{"a":1}\n${FENCE} bye`,
      "Here you are: {'a': 1}",
      'ok\n{a: 1}',
      'It is {“a”: 1}.',
      '<reasoning>{"a":9}</reasoning> so {"a":1}',
    ],
  ],
  [{ value: { b: 2 } }, ['// {"a":1}\n{"b":2}']],
  [{ value: { b: 'full' } }, ['<json>{"b":"par<json>{"b":"full"}</json>']],
  [{ value: { a: 'x\n```\ny' } }, [`${FENCE}json\n{"a":"x\n${FENCE}\ny"}\n${FENCE}`]],
  [{ value: { a: 'x\u001b[0my' } }, [`{"a":"x${ESC}[0my"}`]],
  [{ value: '{"a":1}' }, ['"{\\"a\\":1}"']],
]

/** More than one. */
const several: readonly Row[] = ['one {"a":1} two {"a":2}', '{"a":1}\n{"a":2}'].map((text) => ({
  text,
  answer: { value: { a: 1 } },
  last: { value: { a: 2 } },
}))

const mixed: readonly Row[] = ['[1,2]{"a":1}', '[1,2]\n{"a":1}'].map((text) => ({
  text,
  answer: { value: [1, 2] },
  last: { value: { a: 1 } },
}))

/** One broken document, with the rules of repair spelled out. */
const broken: readonly Group[] = [
  [
    { value: { a: 1 } },
    [
      '{"a":1,}',
      '{a:1}',
      "{'a':1}",
      '{“a”:1}',
      '{"a":\u200b1}',
      '{\u00a0"a":1}',
      '{\\"a\\":1}',
      '{"a" 1}',
      '{"a":+1}',
      '{,"a":1}',
      '{"a"=1}',
    ],
  ],
  [{ value: [1, 2] }, ['[1,2,]', '[1,2]}']],
  [{ value: {} }, ['{}}']],
  [{ value: { a: 1 } }, ['{"a":1}}', '{"a":1}}}\n}', "{'a':1}}"]],
  [{ value: { a: { b: 1 } } }, ["{'a': {'b': 1}}}", '{“a”:{“b”:1}}}']],
  [{ fault: 'INVALID_JSON' }, ['[}', '{:}', '{}{', '}{', '][', '{"a":1}}]', '{"a":1}}}}}']],
  [{ value: [{ a: 1 }] }, ['[{"a":1},]']],
  [{ value: { a: "it's" } }, [`{'a':"it's"}`]],
  [{ value: { a: "it's", b: "the boss' }" } }, [`{'a':"it's",'b':"the boss' }"}`]],
  [{ value: { a: '}"', b: "it's" } }, [`{'a':'}"','b':"it's"}`]],
  [{ value: { a: 1, b: 'x}y', c: 2 } }, [`{"a":1,'b':'x}y','c':2}`]],
  [
    { value: { a: 1, b: 'x}, y', c: 2 } },
    [`{'a':1,'b':'x}, y','c':2}`, '{"a":1,"b":x}, y","c":2}', '{"a":1,"b:"x}, y","c":2}'],
  ],
  [{ value: { a: 1, b: 'x} y', c: 2 } }, ["{a:1,b:'x} y',c:2}", '{“a”:1,“b”:“x} y”,“c”:2}']],
  [{ value: [{ a: 1, b: 'x}], y', c: 2 }] }, [`[{"a":1,'b':'x}], y','c':2}]`]],
  [
    { fault: 'INVALID_JSON' },
    [
      '{"a":1,"b":"x"} y","c":2}',
      '{"a":1}"b":2}',
      '{"n":1}2}',
      '{"n":1}2,"a":1}',
      '{"a":1,,"b":2}',
      '{"a":undefined}',
      '{"a":tru}',
      '{"a":}',
      '{a:tru}',
      "{'a':}",
      '{"a":1,200}',
      '{"a":(1)}',
      '{"a":[1:2]}',
      '{"a":[1,...]}',
      '{"a":1,...}',
      '{"a":1}]',
      '{"k":1}},"m":2}',
      '{"k":1},"m":2}',
      '{"k":{"l":1},"m":2},}',
      '{"k":1},]',
      '{"k":1},/* [ */"m":2}',
      '{"k":1}<!-- [ -->,\n"m":2}',
      '{"k":[\n```\n[1]\n}',
      '{}"m: "x",\n"n":2}',
      '{"k":1}"m: "x",\n"n":2}',
      '{"k":1}"m"=2}',
      '{"k":1},\u00a0"m":2}',
      '{"k":1},{"m":2}',
      '{"k":1}:2',
      '{"a":{"b":1}},"c":2}',
      '{"a":[1}',
      '{"a":{"b":1]',
      '{"a":[{"b":1},"c":2}',
      '{"a":1]}',
      '[1:2]',
      '[1 2]',
      '{"a"}',
      '{"a","b"}',
      '{"a":=1}',
      '{"a":-05}',
      '{"zip": 02134}',
      '{"a":1 000.0}',
      '["x "a", "b" y"]',
      '["a" b", "c"]',
      '["a"",1]',
      '{"a":""b"}',
      '{"a":"b"","c":1}',
      '[1, // 5",\n2]',
      '{"a": "b" // c"\n}',
      '{"a":"x "u", // y"\n"b":1}',
      '{"a":np.float64(0.87)}',
      '{"a":a || 3}',
      '{"a":f()}',
      '{"a":"low" | "high"}',
      '{"a":string}',
      '{"a":"x\\","b":1}',
      '{"a":"C:\\\\x\\","b":1}',
      '{"a":(1)}',
      '{"h": 5\' 10"}',
      '{"m": "\\frac{1}{2} or \\d"}',
      '{"a":[10:20]}',
      '[1,2][0]',
      '[1,2][1:]',
      '["a","b"].length',
      '{"a":1}["a"]',
      '{"a":1}.a',
      '{"a":1}?.a',
      '[{"a":1}].concat([{"b":2}])',
      '[1, 2; 3, 4]',
      '{"a":"甲"和"乙"}',
      '{"a":\nb: 1}',
      '{"a":[red green]}',
      "{'a':'x\\', 'b':'y'}",
    ],
  ],
  [{ value: { dir: 'C:\\x\\', n: 1 } }, ['{"dir":"C:\\x\\","n":1}']],
  [{ value: { a: [1, 2], b: [] } }, ["{'a': (1, 2), 'b': ()}", '{"a":(1, 2),"b":()}']],
  [{ value: { a: 'x' } }, ["{u'a': u'x'}"]],
  [{ value: { a: 5, b: 82_461_110 } }, ['{"a":5.,"b":82_461_110}']],
  [{ value: { a: '$5' } }, ['{"a":"\\$5"}']],
  [{ value: { a: 'Q:\nA' } }, ['{"a":"Q:\\nA",}']],
  [{ value: { a: 'one two' } }, ['{"a":"one "\n"two"}']],
  [{ value: { a: 'say "hi" now', b: 1 } }, ['{"a":"""say "hi" now""","b":1}']],
  [{ value: { a: ['x', 'y'] } }, ['{"a":[x, y]}', '{a:[x,y]}']],
  [{ value: { a: 'x', b: 1 } }, ['{"a":x "b":1}', '{a: x\nb: 1}']],
  [{ value: { a: '65a1', b: 5, c: 31 } }, ['{"a":ObjectId("65a1"),"b":NumberLong(5),"c":0x1F}']],
  [{ value: { a: 1 } }, ['callback({"a":1,});']],
  [{ value: {} }, ['jsonp_callback({})']],
  [{ value: [1, 2] }, ['callback([1, 2])']],
  [{ fault: 'INVALID_JSON' }, ['{"a":NumberLong("5")}', '{"x":[a,b]}']],
  [{ fault: 'TRUNCATED' }, ['["hello, world]']],
  [{ value: { a: '2024-01-02', b: '10:30', c: '1.2.3' } }, ['{"a":2024-01-02,"b":10:30,"c":1.2.3}']],
  [{ value: { a: 'b' } }, ['{“a”:“b”}']],
  [{ value: { a: 'x', b: 1 } }, ['{"a":"x""b":1}', '{"a":"x,"b":1}']],
  [
    { value: { a: 1, b: 2 } },
    [
      '{"a":1 "b":2}',
      '{"a":1,b":2}',
      '{"a":1, # note\n"b":2}',
      '{"a":1, // see [1\n"b":2}',
      '{"a":1, // 5" wide\n"b":2}',
      '{"a":1, /* } */ "b":2}',
      '{"a":1;"b":2}',
      '{"a":1;\n"b":2;}',
      `{"a":1,\n${FENCE}json\n"b":2}`,
    ],
  ],
  [{ value: { a: 'x' } }, ['{"a":"x}', '{"a":x"}']],
  [{ value: { a: 'xy' } }, ['{"a":"x" + "y"}']],
  [{ value: { a: 'a 24" screen' } }, ['{"a":"a 24" screen"}']],
  [{ value: { a: 'the "best" one' } }, ['{"a":"the "best" one"}']],
  [{ value: { a: 'C:\\Users\\dev' } }, ['{"a":"C:\\Users\\dev"}']],
  [{ value: { a: 'x\ny' } }, ['{"a":"x\ny"}']],
  [{ value: { a: 'x\ty' } }, ['{"a":"x\ty"}']],
  [{ value: { a: 0.5 } }, ['{"a":.5}']],
  [{ value: { a: null, b: true, c: null } }, ['{"a":None,"b":True,"c":NULL}']],
  [{ value: { a: null } }, ['{"a":NaN}', '{"a":Infinity}']],
  [{ value: ['a', 'b'] }, ['["a" "b"]', '["a"、"b"]', '["a"، "b"]', '[「a」, «b»]']],
  [{ value: { a: 1 } }, ['{\\n  "a": 1\\n}', '{「a」: 1}', '{«a»: 1}']],
  [{ value: { m: '$\\alpha$' } }, ['{"m": "$\\alpha$"}']],
  [{ value: [1] }, ['[,1]']],
  [{ fault: 'NO_MATCH' }, ['1 000.0', '(1)', 'tru', '1,200', '-05']],
  [{ value: 82_461_110 }, ['82_461_110']],
  [{ value: null }, ['None']],
  [{ value: [1, 'x'] }, ["(1, 'x')"]],
  [
    {
      value: [
        ['a', 1],
        ['b', 2],
      ],
    },
    ["[('a',1),('b',2)]"],
  ],
  [{ value: 0.5 }, ['.5']],
]

/** No payload at all. */
const prose: readonly Group[] = [
  [{ fault: 'EMPTY' }, ['', '  \n']],
  [
    { fault: 'NO_MATCH' },
    ['hello', '[INFO] x', '{cmd}', 'fn() { return 1 }', '[1, 2](x)', '...', '<json>', FENCE],
  ],
  [{ value: {} }, ['{ }']],
]

/** What breaks off: every prefix of one document, and a few others. */
const whole = '{"a":"b\\u00e9\\n","c":[1.5,{"d":null}],"e":{"f":true}}'
const cut = [
  ...Array.from({ length: whole.length - 1 }, (_, index) => whole.slice(0, index + 1)),
  '[1,2',
  '[{"a":1}',
  '["a',
  'Sure: {"a":1',
  '<json>{"a":1',
  '<json>{"a":1</json>',
  `${FENCE}json\n{"a":1`,
  `${FENCE}json\n{"a":1\n${FENCE}`,
  '<think>{"a":1',
]

const hostile: readonly Group[] = [
  [{ fault: 'TRUNCATED' }, ['['.repeat(50), '[[[[]]]', '{"a":{"a":{"a":', '{"a":"\\', '{"a":"\\u12']],
  [
    { fault: 'INVALID_JSON' },
    ['{{"a":1}}', '{"a":"\\u12"}', `{"a":"${'"'.repeat(200)}"}`, `{"a":${'<think>'.repeat(20)}1}`],
  ],
  [{ fault: 'NO_MATCH' }, ['"', '\\']],
  [
    { value: { a: 1 } },
    [
      '{"a":1}'.repeat(5),
      `${'<json>'.repeat(20)}{"a":1}</json>`,
      `{"a":1${' '.repeat(200)}}`,
      '{"a":1\u2028}',
      '{"a":1}\u0000',
    ],
  ],
  [{ value: { a: 'A' } }, ['{"a":"\\x41"}']],
  [{ value: { a: '\u0000' } }, ['{"a":"\u0000"}']],
  [
    { fault: 'MAX_DEPTH' },
    [`${'['.repeat(600)}${']'.repeat(600)}`, `${'{"a":'.repeat(600)}1${'}'.repeat(600)}`],
  ],
  [{ value: { a: '"'.repeat(200) } }, [`{"a":"${'\\"'.repeat(200)}"}`]],
]

/** Byte by byte these take long. */
const long: readonly Group[] = [[{ fault: 'INVALID_JSON' }, [`{"a":"${'x'.repeat(70_000)}",}`]]]

const unsettled = [
  'Use `{x}` or {y: z}: {"a":1}',
  'The list: ["a","b"]',
  'The list: [1,2]',
  'See [1] and {"a":1}',
  '[1] Done',
  '{'.repeat(50),
  '}'.repeat(50),
  '{[x{"a":1}',
  ',',
  ':',
  ']',
]

/** The smallest text of each kind of corruption, and one of middle size, in both layouts. */
const corrupted: readonly Row[] = (slow ? KINDS : KINDS.filter((_, index) => index % 4 === 0)).flatMap(
  (kind) =>
    (slow ? (['compact', 'pretty'] as const) : (['compact'] as const)).flatMap((layout) => {
      const all = casesOf(kind, { seeds: slow ? 60 : 2, layout }).toSorted(
        (one, two) => one.text.length - two.text.length,
      )
      return all.length === 0 ? [] : [all[0]!, all[all.length >> 1]!]
    }),
)

const groups = [...found, ...broken, ...prose, ...hostile, ...(slow ? long : [])]

/** The texts that must have one answer at every door. */
export const rows: readonly Row[] = [
  ...good.map((text) => ({ text, answer: { value: JSON.parse(text) as unknown } })),
  ...groups.flatMap(([answer, texts]) => texts.map((text) => ({ text, answer }))),
  ...several,
  ...mixed,
  ...cut.map((text) => ({ text, answer: { fault: 'TRUNCATED' } })),
  ...unsettled.map((text) => ({ text })),
  ...corrupted.map(({ text, original }) => ({ text, original })),
]
