import { tryParse } from './src/values/parse.ts'
for (const t of ['["a", "b"] is the output.','["a","b"]\n\nThese are the items.','["a", "b"]\nis','["a"] x','[1,"b"] x','["a", "b"]: done','{"a":"b"} is the output.','{"a":["b"]} is it'])
 { for (const o of [tryParse(t,{root:'any'}),tryParse(t)]) console.log(JSON.stringify(t).padEnd(60), o.ok? JSON.stringify(o.value): o.fault.code+' '+o.fault.message.slice(0,110)) }
