import type { Command } from 'commander'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/index.ts'
import { put } from './put.ts'

/** `sluice engines`: the profiles and what they understand. */
export function addEnginesCommand(program: Command): void {
  program
    .command('engines')
    .description('the agents that are understood')
    .option('--json', 'as NDJSON')
    .action(async (options: { readonly json?: true }) => {
      const rows = [...Object.values(engines), auto].map(({ name, parser, cut, about = '' }) => {
        const channels = (['stdout', 'stderr', 'pty'] as const).filter(
          (channel) => cut[channel] !== undefined,
        )
        return { name, parser, channels, about }
      })
      const wide = (key: 'name' | 'parser') => Math.max(...rows.map((row) => row[key].length))
      const [name, parser] = [wide('name'), wide('parser')]
      for (const row of rows) {
        const line = `${row.name.padEnd(name)}  ${row.parser.padEnd(parser)}  ${row.channels.join('+').padEnd(17)}  ${row.about}`
        if (!(await put(`${options.json ? JSON.stringify(row) : line}\n`))) return
      }
    })
}
