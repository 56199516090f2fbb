// What a skill printed, read into one result: the schema decides, a repair is told, a success is cached.
import { type CacheEntry, jsonSchema, tryParse } from 'agent-sluice'

interface Digest {
  digest_path: string
  warnings: string[]
  error: string | null
}
const schema = jsonSchema<Digest>({
  type: 'object',
  required: ['digest_path', 'warnings', 'error'],
  properties: { digest_path: { type: 'string' }, warnings: { type: 'array', items: { type: 'string' } } },
})
const cache = new Map<string, CacheEntry>()

export function resultOf(stdout: string, key: string) {
  const outcome = tryParse(stdout, { schema, pick: 'last' })
  const { repair_level, notes } = outcome
  const warnings = notes.map(({ code }) => code)
  if (!outcome.ok) return { status: 'failed', repair_level, warnings: [outcome.fault.code, ...warnings] }
  cache.set(key, { value: outcome.value, repair_level, notes })
  return { status: 'success', repair_level, warnings, path: outcome.value.digest_path }
}

const good = '{"digest_path": "digest.md", "warnings": [], "error": null}'
const outputs = {
  fence: `任务已完成。\n\`\`\`json\n${good}\n\`\`\``,
  envelope: JSON.stringify({ session_id: 'x', response: good }),
  mixed: `The task is complete.\nResult:\n${good}\n附加统计信息...`,
  plain: good,
  incomplete: '{"digest_path": "digest.md"}',
  cut: `Draft: ${good}\nCorrected: {"digest_path": "final.md", "warn`,
}
for (const [name, stdout] of Object.entries(outputs))
  console.log(name, JSON.stringify(resultOf(stdout, name)))
console.log('cached:', [...cache.keys()].join(', '))
