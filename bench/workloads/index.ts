import type { Workload } from '../measure.ts'

/** Loaded one by one, so that a process holds only the opponents of its own workload. */
export const workloads: ReadonlyMap<string, () => Promise<Workload>> = new Map([
  // Real bytes first: they are what users have.
  ['W2r', async () => (await import('./w2r.ts')).w2r],
  ['W2k', async () => (await import('./w2k.ts')).w2k],
  ['W9', async () => (await import('./w9.ts')).w9],
  ['W0', async () => (await import('./w0.ts')).w0],
  ['W1', async () => (await import('./w1.ts')).w1],
  ['W2', async () => (await import('./w2.ts')).w2],
  ['W2s', async () => (await import('./w2s.ts')).w2s],
  ['W3', async () => (await import('./w3.ts')).w3],
  ['W4', async () => (await import('./w4.ts')).w4],
  ['W5', async () => (await import('./w5.ts')).w5],
  ['W6', async () => (await import('./w6.ts')).w6],
  ['WP', async () => (await import('./wp.ts')).wp],
  ['WF', async () => (await import('./wf.ts')).wf],
  ['W7', async () => (await import('./w7.ts')).w7],
  ['W8', async () => (await import('./w8.ts')).w8],
  ['W10', async () => (await import('./w10.ts')).w10],
])
