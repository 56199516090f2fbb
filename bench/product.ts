/**
 * The package as its users get it: imported by name, so from `dist`. The name is no literal, because types
 * must not depend on a build that may be missing; they come from the source.
 */
const name = 'agent-sluice'

export const product = (await import(name)) as typeof import('../src/index.ts')

export const { snapshots } = (await import(`${name}/values`)) as typeof import('../src/values.ts')
