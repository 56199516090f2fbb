import { once } from 'node:events'

/**
 * Writes text on stdout as fast as it can be taken. False once nobody reads any more (`| head`): then it
 * is time to stop, quietly.
 */
export function output(): (text: string) => Promise<boolean> {
  let gone = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    gone = true
  })
  return async (text) => {
    if (gone) return false
    if (!process.stdout.write(text)) {
      await Promise.race([once(process.stdout, 'drain'), once(process.stdout, 'close')]).catch(() => {})
    }
    return !gone
  }
}

/** Prints records on stdout, one JSON text a line. */
export function printer(): (record: object) => Promise<boolean> {
  const write = output()
  return (record) => write(`${harmless(JSON.stringify(record))}\n`)
}

/**
 * JSON escapes C0 only. DEL, C1 (which holds one-byte CSI and OSC), line separators and bidirectional
 * overrides can steer a terminal too, so they are escaped here. They occur in strings only, where an
 * escape means the same.
 */
export function harmless(json: string): string {
  const pieces: string[] = []
  let copied = 0
  for (let i = 0; i < json.length; i++) {
    const unit = json.charCodeAt(i)
    if (unit < 0x7f || !isUnsafe(unit)) continue
    pieces.push(json.slice(copied, i), `\\u${unit.toString(16).padStart(4, '0')}`)
    copied = i + 1
  }
  return copied === 0 ? json : pieces.join('') + json.slice(copied)
}

function isUnsafe(unit: number): boolean {
  return (
    (unit >= 0x7f && unit <= 0x9f) ||
    (unit >= 0x2028 && unit <= 0x202e) ||
    (unit >= 0x2066 && unit <= 0x2069) ||
    unit === 0x061c ||
    unit === 0x200e ||
    unit === 0x200f
  )
}
