import type { Frame } from './frame.ts'
export function placeOf(frame: Frame, units: number): number {
  return frame.from + Buffer.byteLength(frame.text.slice(0, units))
}
