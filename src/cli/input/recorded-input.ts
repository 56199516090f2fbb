import { quote } from '../../base/fault.ts'
import { engineNamed } from '../../engines/engine-name.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { readMeta } from '../../run/meta.ts'

export { replay } from '../../run/replay.ts'

/** Says what a replay lacks that is not recorded: a schema that has not decided, or an engine of somebody. */
export function tellMissing(
  dir: string,
  { schema, engine }: { readonly schema?: string; readonly engine?: string },
): void {
  const metas = listAttempts(dir).map(({ meta, within }) => readMeta(meta, within))
  if (schema === undefined && metas.some((meta) => meta?.reading?.schema && !meta.complete))
    console.error(
      'sluice: its result was checked with a schema, which is not recorded; give it again: --schema',
    )
  // Other recorders have names of their own, and do not write `complete`.
  const named = metas.find((meta) => meta?.complete !== undefined)?.engine ?? 'auto'
  if (engine === undefined && named !== 'auto' && !engineNamed(named))
    console.error(
      `sluice: it was read by the engine ${quote(named, 100)}, which is not one of ours; give it again: --engine`,
    )
}
