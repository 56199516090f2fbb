import { createRequire } from 'node:module'

/** The version of this package, resolved by its name: the bundler decides how deep a built file is. */
export function version(): string {
  // Cast: package.json is ours.
  return (createRequire(import.meta.url)('agent-sluice/package.json') as { version: string }).version
}
