import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { link, open, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { orElse } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { LF } from '../text/characters.ts'

/**
 * Writes a file atomically: it is complete or missing, also after a crash or a power cut. With
 * `exclusive`, it returns false if the name is taken: of any number of processes, one wins.
 */
export async function writeWhole(path: string, text: string, exclusive = false): Promise<boolean> {
  makeDir(dirname(path))
  const draft = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(draft, 'wx')
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    // A rename replaces an existing file; a link refuses to.
    if (exclusive) await link(draft, path)
    else replaceFile(draft, path)
  } catch (error) {
    if (exclusive && (error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(dirname(path))
  return true
}

/** The same at once and for its owner alone, without waiting for the disk: a reader sees it whole. */
export function writeWholeSync(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}.tmp`
  try {
    fs.writeFileSync(draft, text, { flag: 'wx', mode: 0o600 })
    replaceFile(draft, path)
  } catch (error) {
    orElse(() => fs.rmSync(draft, { force: true }), undefined)
    throw error
  }
}

/** Creates a directory and its parents. */
export function makeDir(dir: string, mode = 0o777): void {
  // One by one: in /proc, Node's recursive call tries forever, and on a read-only disk it reports ENOENT.
  const missing: string[] = []
  for (let path = resolve(dir); !isDirectory(path) && path !== dirname(path); path = dirname(path))
    missing.unshift(path)
  for (const path of missing) {
    try {
      fs.mkdirSync(path, { mode })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      // Another process was faster, or it is a file, which this refuses with ENOTDIR.
      fs.statSync(`${path}/.`)
    }
  }
}

function isDirectory(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Appends one line, whole, and waits until it is on the disk. */
export async function appendLine(path: string, line: string): Promise<void> {
  makeDir(dirname(path))
  const file = await open(path, 'a+')
  try {
    const { size } = await file.stat()
    const last = Buffer.alloc(1)
    if (size > 0) await file.read(last, 0, 1, size - 1)
    // A writer that was killed in mid-line leaves a torn tail, which must not swallow this line.
    const torn = size > 0 && last[0] !== LF
    await file.appendFile(`${torn ? '\n' : ''}${line}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A new name is only durable after its folder is synced; some systems cannot sync folders. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

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
