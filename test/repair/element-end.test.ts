import { expect, test } from 'vitest'
import { type ElementPlace, elementEnd, isElementOver } from '../../src/repair/element-end.ts'
import { hidden } from '../values/shown-text.ts'

// Texts that begin with an element that is not JSON, and where it ends: at ▮; or the text breaks off in it
// (cut), more text is needed, or there is no telling.
const ends = String.raw`
# an element of an array at the root, all is here
{"a":1,}▮,{"a":2}]
{"a":1,}▮]
{"a":1,}▮ , {"a":2} ]
{"a":1,}▮, ]
{"a":1,}▮ /* c */ , // d␊ {"a":2}]
{a:1}▮,{"a":2}]
{"a":"5" tall"}▮,{"a":"7"}]
{"a":"Ada,"b":1}▮,{"a":"x"}]
{"a":"Ada}▮,{"a":"x"}]
{"a":Ada"}▮,{"a":"x"}]
{"a":1,}▮{"a":2}]
{"a":1,}▮ {"a":2}]
{"a":1,}["b"]] → unknown
{"a":1,} x] → unknown
{"a":1,}▮,"b"]
{"a":1,}▮,["b"]]
{"a":1,}▮,5]
{"a":1,}▮,x]
{"a":1,},"b":2}] → unknown
{"a":1,},b:2}] → unknown
{"a":1,},} → unknown
{"a":1,}}] → unknown
{"a":1,}]] → unknown
{"a":1,}],{"b":2}] → unknown
{"a":1,}]} → unknown
{"a":1,}▮] x
{"a":1,}▮,{"a":2
{"a":1,}▮,{"a":
{"a":1,}▮,
{"a":1,}▮
{"a":1,}▮ 
{"a":1, → cut
{"a":1 → cut
{"a":"x → cut
{"a": → cut
{"a":}▮,{"a":2}]
{"a":}▮]
{"a":}▮,
{"a":} → cut
{"a":,"b":[1 2]}▮,{"a":2}]
{"a":[1 2]}▮,{"a":2}]
{"a":[1,{"b":}]}▮,{"a":2}]
{"a":[1 2}},{"a":2}] → unknown
{"a":[1 2},{"a":2}] → unknown
{"a":},"b"] → unknown
{"a":}▮,5]
{"a":},["b"]] → unknown
{"a":tru}▮,{"a":2}]
{"a":x y "z"},{"a":2}] → unknown
{"a":"x" "y"},{"a":2}] → unknown
{"a":"x"y},{"a":2}] → unknown
{"a":'x}▮,{"a":2}]
{"a":/x},{"a":2}] → unknown
{"a":#x},{"a":2}] → unknown
{"a":\x},{"a":2}] → unknown
{"a":<x},{"a":2}] → unknown
{"a"}▮,{"a":2}]
{"a" "b" "c"},{"a":2}] → unknown
{\"a\":1}▮,{\"a\":2}]
{\"a\":}▮,{"a":2}]
{\"a\":,\"b\":\"x\\\"y\"}▮,{"a":2}]
{\"a\":,\"b\":\"x,{\"}▮,{"a":2}]
{\"a\":,\"b\":"x"},{"a":2}] → unknown
{\n\"a\":,\n}▮,{"a":2}]
{\"a\":\x}▮,{"a":2}]
[1 2]▮,[3]]
[1 2]▮,[3],[4]]
[1 2]▮,5]
[1 2]▮]
[1 2,[3]] → cut
[,1]▮,[3]]
["x" y],["z"]] → unknown
tru▮,true]
tru▮]
tru } → unknown
tru▮  ]
tru▮␊,true]
tru x▮]
tru:1] → unknown
tru"x"] → unknown
tru{}] → unknown
tru → unknown
-▮,5]
"a "b" c"▮,"d"]
"a "b" c","d" e] → unknown
"a"▮ "b"]
"a"▮"b"]
"a""b":1] → unknown
"a" b] → unknown
"a" {}] → unknown
"a" 5] → unknown
"a▮,"b"]
"a▮,"b","c"]
"a,"b": → unknown
"a → cut
"a"▮␊"b"]
'a'▮,'b']
'a' 'b'] → unknown
'a'b▮]
5 6▮]
5 "a"] → unknown
True▮,False]
True False▮]
{"a":1 /* /* */ },{"a":2}] → unknown
{"a":1, /* c */ b:2}▮,{"a":2}]
{"a":1,}▮,{"a":2},]
{"a":1,}▮,{"b" 2}]
{"a":1,}▮,{"b":2 3}]
{"a":1,},{"b":[}] → unknown
{"a":"x "y"},{"a":"z"}] → unknown
{"a":"x "y" z"}▮,{"a":"z"}]
{"a":"x"}▮,{"b":"y" z"},{"c":1}]
5▮,"b
"a"▮,[]
[", []] → cut
{},tru} → unknown
5,true1] → unknown
false▮,{"a"}
"a\q"] → unknown
"a""] → unknown
", ""] → unknown
"a",{"b":"c}\"} → unknown
"a""], → unknown
{"a":high},"b"] → unknown
{"a":high}▮,{"b":1}]
{"a":high}▮,5]
{"a":1 /*/* */ },{"a":2}] → unknown
{"a":,"b":""}▮,{"a":2}]
{\"a\":,\"b\":\"x"y\"},{"a":2}] → unknown
{\"a\":,\"b\":\"\"}▮,{"a":2}]

# an element of an array at the root, more may follow
{"a":1,}▮,{"a":2}]
{"a":1,},{"a":2 → more
{"a":1,},{ → more
{"a":1,}, → more
{"a":1,} → more
{"a":1,}] → more
{"a":1,}▮] x
{"a":1,}]] → more
{"a":1,}▮{"a":2}
{"a":1, → more
{"a":"x → more
{"a":"5" tall"}▮,{"a":"7"}]
{"a":"5" tall"},{"a":"7 → more
{"a":"5" tall" → more
{"a":} → more
{"a":}, → more
{"a":}▮,{"a":2}]
{"a":},{"a": → more
{"a":},5 → more
{"a":}▮,5]
{"a":}] → more
tru → more
tru, → more
tru] → more
"a" b → more
"a "b" c","d → more
{"a":1 /* c → more
[1 2],[3 → more
[1 2],[3] → more
"a""], → more

# an element of an array in an array, all is here
{"a":1,}▮],[{"a":2}]]
{"a":1,}▮]]
{"a":1,}▮],5]
{"a":1,}],"a":1} → unknown
{"a":1,}]} → unknown
{"a":1,}] x → unknown
{"a":1,}▮]
{"a":1,}▮],
{"a":}▮],["b"]]
{"a":1,}▮,{"a":2}],[3]]

# an element of an array in an object, all is here
{"a":1,}▮],"b":2}
{"a":1,}▮],b:2}
{"a":1,}▮]}
{"a":1,}]] → unknown
{"a":1,}],[2]} → unknown
{"a":1,}],{"b":2}} → unknown
{"a":1,}] x → unknown
{"a":1,}▮]
{"a":}▮],"b":2}
{"a":}▮]}

# an element of an array in an object, more may follow
{"a":1,}] → more
{"a":1,}], → more
{"a":1,}],"b → more
{"a":1,}▮],"b":2
{"a":1,}▮]}

# a member of an object at the root, all is here
{"a":1,}▮,"b":2}
{"a":1,}▮}
{"a":1,}▮,b:2}
{"a":1,},5} → unknown
{"a":1,},"b"} → unknown
{"a":1,}▮,}
{"a":1,}▮ "b":2}
{"a":1,}▮"b":2}
{"a":1,}▮ b:2}
{"a":1,} 5} → unknown
{"a":1,}] → unknown
{"a":1,}}} → unknown
{"a":1,}▮,"b":
{"a":1,}▮,
{"a":1,}▮
tru▮,"b":2}
tru▮}
tru] → unknown
tru "b":2} → unknown
"x" y"▮,"b":2}
"x" y"▮}
"x"y"▮}
"x▮,"b":2}
"x▮}
"x → cut
"x"▮␊"b":2}
[1 2]▮,"b":2}
{"a":}▮,"b":2}
{"a":}▮}
{"a":}] → unknown
,"b":2} → unknown
} → unknown
high▮,"b":2}
high▮}

# a member of an object at the root, more may follow
{"a":1,}▮,"b":2}
{"a":1,},"b → more
{"a":1,}, → more
{"a":1,} → more
{"a":1,}} → more
high → more
high,"b" → more
high▮,"b":2
"x" y → more
"x▮,"b":2}

# a member of an object in an array, all is here
{"a":1,}▮},{"b":2}]
{"a":1,}▮}]
{"a":1,}},"b":2} → unknown
{"a":1,}▮},5]
{"a":}▮},{"b":2}]

# a member of an object in an object, all is here
{"a":1,}▮},"b":2}
{"a":1,}▮}}
{"a":1,}}] → unknown
{"a":1,}},{"b":2}] → unknown
{"a":}▮},"b":2}
`

// What follows an element that is JSON, and whether that shows that it is complete.
const after = String.raw`
# an element of an array at the root, all is here
,{"a":2}] → yes
 , {"a":2}] → yes
] → yes
 ] → yes
} → no
:1 → no
{"a":2} → yes
["a"] → yes
x → no
"b"] → no
, → yes
,] → yes
,} → no
,"b":2} → no
,"b" :2} → no
,'b':2} → no
,b:2} → no
,b] → yes
,5] → yes
,5} → yes
,5 → yes
,"b"] → yes
,"b",5] → yes
,"b" ,5] → yes
,"b"x] → no
,"b"5] → no
,"b"} → no
,"b" → yes
,"b"  → yes
,"b → yes
,"b\"c"] → yes
,"b\",5] → yes
,x"] → yes
/ c → no
/* c */,{"a":2}] → yes
// c␊] → yes
, // c␊{"a":2}] → yes
, / x → yes
,[ → yes
,“b”] → yes
,, → yes
(nothing) → yes

# an element of an array at the root, more may follow
(nothing) → wait
⟨20⟩ → wait
, → wait
,  → wait
,{ → yes
,[ → yes
] → yes
} → no
: → no
x → no
/ → wait
,/ → wait
 # → wait
,# → wait
<!- → wait
, <!- → wait
~~ → wait
,~~ → wait
,"b → wait
,"b" → wait
,"b"  → wait
,"b", → yes
,"b"] → yes
,"b": → no
,"b"x → no
,"b" / → wait
,'b → wait
,'b' → wait
,'b': → no
,b → wait
,b: → wait
,b:/ → wait
,b:1 → wait
,b] → yes
,5 → wait
,5] → yes
,5  → wait
,, → yes
,""] → yes
,'b] → wait
,b:12 → no
,} → no
,tru → wait
(nothing) → wait

# an element of an array in an array, all is here
]] → yes
,[1]] → yes
(nothing) → yes

# a member of an object at the root, all is here
,"b":2} → yes
} → yes
] → no
:2 → no
 x → yes
"b":2} → yes
(nothing) → yes

# a member of an object at the root, more may follow
(nothing) → wait
, → yes
} → yes
] → no
: → no
x → yes
`

test('a broken element ends where a person ends it', () => {
  const others = linesOf(ends).flatMap(([line, place]) => {
    const [shown, word] = line.split(' → ')
    const text = hidden(shown!.replace('▮', ''))
    const end = elementEnd(text, place)
    const expected = word ?? hidden(shown!).indexOf('▮')
    return end === expected ? [] : [`${line}: ${end}`]
  })
  expect(others).toEqual([])
})

test('there are limits to how far the end is looked for', () => {
  const place = { inArray: true, outer: 'none', final: true } as const
  const open = { ...place, final: false }
  const nested = (levels: number) => `${'['.repeat(levels)}tru${']'.repeat(levels)}]`
  expect([elementEnd(nested(1025), place), elementEnd(nested(1026), place)]).toEqual([2053, 'unknown'])
  // Each comma may be the end of the string that lost its quote.
  const commas = (count: number) => `{"a":"${'x,'.repeat(count)}"b":1},{"a":2}]`
  expect([elementEnd(commas(300), open), elementEnd(commas(400), open)]).toEqual([612, 'unknown'])
  // What 2 KiB do not show, more will not show.
  const words = (length: number) => `tru:${'x'.repeat(length - 4)}`
  expect([elementEnd(words(2047), open), elementEnd(words(2048), open)]).toEqual(['more', 'unknown'])
})

test('what follows an element says whether it is over', () => {
  const words = new Map([
    [true, 'yes'],
    [false, 'no'],
    [undefined, 'wait'],
  ])
  const others = linesOf(after).flatMap(([line, place]) => {
    const [shown, word] = line.split(' → ')
    const over = words.get(isElementOver(hidden(shown!.replace('(nothing)', '')), place))
    return over === word ? [] : [`${line}: ${over}`]
  })
  expect(others).toEqual([])
})

test('a comment that may end later decides nothing, however much of it is here', () => {
  const place = { inArray: true, outer: 'none', final: false } as const
  expect([isElementOver(', / x]', place, true), isElementOver(', x]', place, true)]).toEqual([
    undefined,
    true,
  ])
})

/** The lines of a table, each with the place that the heading above it names. */
function linesOf(table: string): [line: string, place: ElementPlace][] {
  const lines: [string, ElementPlace][] = []
  let place: ElementPlace | undefined
  for (const line of table.split('\n').filter(Boolean)) {
    if (line.startsWith('# ')) {
      const outer = /in an (array|object),/.exec(line)?.[1] as 'array' | 'object' | undefined
      place = {
        inArray: line.startsWith('# an element'),
        outer: outer ?? 'none',
        final: line.endsWith('all is here'),
      }
    } else lines.push([line, place!])
  }
  return lines
}
