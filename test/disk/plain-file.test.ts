import { execFileSync } from 'node:child_process'
import fs, { linkSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { openPlain, readPlain } from '../../src/disk/plain-file.ts'

const fresh = () => join(mkdtempSync(join(tmpdir(), 'sluice-plain-')), 'file')

afterEach(() => void vi.restoreAllMocks())

test.each([
  ['a directory', 'EFTYPE', mkdirSync],
  ['a FIFO', 'EFTYPE', (path: string) => execFileSync('mkfifo', [path])],
  ['a link', 'ELOOP', (path: string) => symlinkSync(tmpdir(), path)],
  ['nothing', 'ENOENT', () => {}],
])('does not open %s, and holds nothing', (_what, code, put) => {
  const path = fresh()
  put(path)
  const opened = vi.spyOn(fs, 'openSync')
  const closed = vi.spyOn(fs, 'closeSync')
  expect(() => openPlain(path)).toThrow(expect.objectContaining({ code }))
  const fds = opened.mock.results.flatMap(({ type, value }) => (type === 'return' ? [value] : []))
  expect(closed.mock.calls.flat()).toEqual(fds)
})

test('does not open a socket', async () => {
  const path = fresh()
  const server = createServer()
  await new Promise<void>((done) => void server.listen(path, done))
  expect(() => openPlain(path)).toThrow(expect.objectContaining({ code: 'ENXIO' }))
  server.close()
})

test('reads up to the limit, and not a byte more', () => {
  const path = fresh()
  writeFileSync(path, 'Grüße')
  expect(readPlain(path, 7)).toBe('Grüße')
  expect(() => readPlain(path, 6)).toThrow(expect.objectContaining({ code: 'EFBIG' }))
  writeFileSync(path, '')
  expect(readPlain(path, 0)).toBe('')
})

test('a file that grows while it is read is too large', () => {
  const path = fresh()
  writeFileSync(path, 'abc')
  const real = fs.readSync
  vi.spyOn(fs, 'readSync').mockImplementationOnce(((...args: Parameters<typeof fs.readSync>) => {
    writeFileSync(path, 'abcdef')
    return real(...args)
  }) as typeof fs.readSync)
  expect(() => readPlain(path, 4)).toThrow(expect.objectContaining({ code: 'EFBIG' }))
})

test.each(['with', 'without'])('opens nothing that lies elsewhere by its real path, %s /proc', (proc) => {
  const [inside, outside] = [fresh(), fresh()].map((path) => realpathSync(dirname(path))) as [string, string]
  mkdirSync(join(inside, 'run'))
  for (const dir of [join(inside, 'run'), outside, `${inside}-beside`]) {
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'file'), dir)
  }
  symlinkSync(outside, join(inside, 'link'))
  if (proc === 'without')
    vi.spyOn(fs, 'readlinkSync').mockImplementation(() => {
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
    })
  expect(readPlain(join(inside, 'run', 'file'), 999, inside)).toBe(join(inside, 'run'))
  for (const path of [join(inside, 'link'), outside, `${inside}-beside`])
    expect(() => readPlain(join(path, 'file'), 999, inside)).toThrow(
      expect.objectContaining({ code: 'EXDEV' }),
    )
  expect(readPlain(join(inside, 'link', 'file'), 999)).toBe(outside)
})

test('the names of a thousand hard links are counted once, and again for a new name', async () => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-plain-')))
  const dir = join(top, 'served')
  mkdirSync(dir)
  const paths = Array.from({ length: 1000 }, (_, n) => join(dir, `copy-${n}`))
  for (const [n, path] of paths.entries()) {
    writeFileSync(path, String(n))
    linkSync(path, `${path}.again`)
  }
  // A name that is as young as the count may be missing in it.
  await expect.poll(() => Date.now() - fs.statSync(paths.at(-1)!).ctimeMs).toBeGreaterThan(200)
  const listed = vi.spyOn(fs, 'readdirSync')
  for (const [n, path] of paths.entries()) expect(readPlain(path, 9, dir)).toBe(String(n))
  expect(listed).toHaveBeenCalledTimes(1)
  linkSync(paths[0]!, join(top, 'outside'))
  expect(() => readPlain(paths[0]!, 9, dir)).toThrow(expect.objectContaining({ code: 'EXDEV' }))
  expect(readPlain(paths[1]!, 9, dir)).toBe('1')
  expect(listed).toHaveBeenCalledTimes(2)
})
