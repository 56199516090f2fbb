/** Throws if two results differ. */
export function same(found: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (a !== b) throw new Error(`${what}\n found ${a}\nwanted ${b}`)
}
