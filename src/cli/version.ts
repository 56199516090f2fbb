import { createRequire } from 'node:module'

/** The version of this package. It is found by the package's own name: the depth of a built file is up to the bundler. */
export function version(): string {
  // The cast: package.json is ours.
  return (createRequire(import.meta.url)('agent-sluice/package.json') as { version: string }).version
}
