import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { RuntimeName } from './runtimes.ts'

/** The development dependency is version 6, which runs on Node 20; 7 needs Node 22. */
const AI_7 = '7.0.169'

/** Whether version 7 runs there. */
export function runsAi7(name: RuntimeName): boolean {
  return name.startsWith('node') && name !== 'node20'
}

/** The program that reads every recorded run with version 6, in a folder of an installed project. */
export function aiSdk6(home: string): string {
  const folder = projectIn(home)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(resolve('node_modules', 'ai'), join(folder, 'node_modules', 'ai'))
  return join(folder, 'read-messages.js')
}

/** The same with version 7, from the registry. Rejects with a sentence if it cannot be had. */
export async function aiSdk7(home: string): Promise<string> {
  const folder = projectIn(home)
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict=false']
  try {
    await promisify(execFile)('npm', ['install', ...quiet, '--save-exact', `ai@${AI_7}`], {
      cwd: folder,
      timeout: 180_000,
    })
  } catch (error) {
    const [why = ''] =
      String((error as { stderr?: string }).stderr || error).match(/npm error .*|Error: .*/) ?? []
    throw new Error(`ai ${AI_7} cannot be fetched from the npm registry: ${why.slice(0, 200)}`, {
      cause: error,
    })
  }
  return join(folder, 'read-messages.js')
}

/**
 * A project of its own: npm would remove what it did not install beside it. The package is found in the
 * folder above.
 */
function projectIn(home: string): string {
  const folder = mkdtempSync(join(home, 'ai-sdk-'))
  cpSync(join('test', 'consumer', 'ai-sdk'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n')
  return folder
}
