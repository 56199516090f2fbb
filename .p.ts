import { isDeepStrictEqual as eq } from 'node:util'
import { tryParse } from './src/values/parse.ts'
import { jsonSchema } from './src/values/schema/json-schema.ts'
import { pairsOf } from './test/values/corrupt.ts'
const [first, count] = [Number(process.argv[2]), Number(process.argv[3])]
const doors: Record<string, (t: string) => [string, any]> = {
  plain: (t) => [t, {}], schema: (t) => [t, { schema: jsonSchema({ type: 'object' }) }],
  tag: (t) => [`ok <json>${t}</json>`, {}], prose: (t) => [`Here it is: ${t} and more`, {}], proseSchema: (t) => [`Here it is:\n${t}\nDone.`, { schema: jsonSchema({ type: 'object' }) }],
}
const n: any = {}
for (const c of pairsOf(count, undefined, first)) {
  for (const [door, f] of Object.entries(doors)) {
    const [t, o] = f(c.text)
    if ((door.startsWith('prose')) && /fence|tag|prose|think|bold|assign|paren/.test(c.kind)) continue
    const r: any = tryParse(t, o)
    n[door] ??= [0, 0, 0]
    if (!r.ok) n[door][1]++
    else if (eq(r.value, c.original)) n[door][0]++
    else { n[door][2]++; if (c.text.length < 900) console.log(door, c.kind, c.seed, '\n  text ' + JSON.stringify(c.text), '\n  got  ' + JSON.stringify(r.value).slice(0, 400)) }
  }
}
console.log(JSON.stringify(n))
