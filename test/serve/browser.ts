import { existsSync } from 'node:fs'
import type { Browser } from 'playwright-core'

const places = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Where a Chromium is, or undefined. */
export const chromiumPath = places.find((path) => path !== undefined && existsSync(path))

/** Goes into the name of a test that needs a browser, so that a skipped one says why. */
export const needsBrowser = chromiumPath ? '' : ' (skipped: no Chromium found; install one or set CHROMIUM)'

export async function launch(): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  return chromium.launch({
    executablePath: chromiumPath!,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}
