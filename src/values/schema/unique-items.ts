import type { Ajv, KeywordDefinition } from 'ajv'

/**
 * `uniqueItems` in linear time: ajv compares every item with every other, unless their type is one scalar,
 * and the value comes from the agent (100,000 untyped numbers take a minute). Items that are equal as JSON
 * serialize to the same text.
 */
export function linearUniqueItems(ajv: Ajv): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword(uniqueItems)
}

const uniqueItems: KeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  compile: (wanted: boolean) => (items: readonly unknown[]) => !wanted || allDiffer(items),
  error: { message: 'must NOT have duplicate items' },
}

function allDiffer(items: readonly unknown[]): boolean {
  const seen = new Set<unknown>()
  for (const item of items) {
    // An object is the text of its sorted JSON, which no string can equal: strings get a quote in front.
    const key =
      typeof item === 'object' && item !== null ? spelled(item) : typeof item === 'string' ? `"${item}` : item
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

/** JSON with sorted keys. Values were parsed within maxDepth, so the recursion is bounded. */
function spelled(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(spelled).join()}]`
  const record = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(record).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${spelled(record[key])}`).join()}}`
}
