import { goesOnAt } from '../json/goes-on.ts'

/**
 * Whether what follows a value at `at` belongs to a larger one: a closing bracket, a comma or colon and a
 * value, a key, or the end of a string or number.
 *
 * @example
 * isStructureAt('{"k":1}},"m":2}', 7) // true
 * isStructureAt('{"k":1}, as asked', 7) // false
 */
export function isStructureAt(text: string, at: number): boolean {
  return structure.test(text.slice(at, at + MAX_LOOK)) || goesOnAt(text, at)
}

const MAX_LOOK = 4096
const structure =
  /^[\s\ufeff]*(?:[}\]]|"(?:[^"\\]|\\.){0,256}"\s*:|[,:][\s\ufeff]*(?:["'“{[\d-]|true|false|null|[\p{L}_$][\p{L}\p{N}_$'-]{0,255}"?\s*:))/su
