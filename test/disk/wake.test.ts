import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Waker } from '../../src/disk/wake.ts'

/** Longer than a test may take. */
const NEVER_MS = 1_000_000

let dir = ''
let waker: Waker
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-wake-'))
  waker = new Waker(NEVER_MS)
})
afterEach(() => {
  waker.close()
  rmSync(dir, { recursive: true })
})

test('wakes every loop that sleeps', async () => {
  const sleeping = [waker.sleep(), waker.sleep()]
  waker.wake()
  await Promise.all(sleeping)
})

test('remembers one call while no loop sleeps', async () => {
  waker.wake()
  waker.wake()
  await waker.sleep()
  let woken = false
  const sleeping = waker.sleep().then(() => {
    woken = true
  })
  await Promise.resolve()
  expect(woken).toBe(false)
  waker.wake()
  await sleeping
})

test('wakes by itself after a while, alone with its signal, and when it is closed', async () => {
  await new Waker(1).sleep()
  await waker.sleep(undefined, 1)
  const leave = new AbortController()
  const [left, other] = [waker.sleep(leave.signal), waker.sleep()]
  leave.abort()
  await left
  await waker.sleep(leave.signal)
  waker.close()
  await other
})

test('wakes when a watched file or folder changes', async () => {
  const path = join(dir, 'log')
  expect(waker.watch(path)).toBe(false)
  writeFileSync(path, 'one')
  expect(waker.watch(path)).toBe(true)
  const sleeping = waker.sleep()
  appendFileSync(path, 'two')
  await sleeping
})
