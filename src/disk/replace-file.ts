import fs from 'node:fs'
import { codeOf } from '../base/system-error-code.ts'

/**
 * Renames a file over another one, which readers then see whole. On Windows that fails while one of them has
 * the old file open, so it is tried again for 100 ms.
 */
export function replaceFile(from: string, to: string): void {
  for (let turn = 1; ; turn++) {
    try {
      fs.renameSync(from, to)
      return
    } catch (error) {
      const inUse = process.platform === 'win32' && IN_USE.includes(codeOf(error) ?? '')
      if (!inUse || turn === 20) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

const IN_USE = ['EPERM', 'EACCES', 'EBUSY']
