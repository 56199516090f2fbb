import { once } from 'node:events'
import { Command, InvalidArgumentError, Option } from 'commander'
import { Fault } from '../base/fault.ts'
import { serve } from '../serve/server.ts'
import { exits } from './exits.ts'
import { tellOpenCode } from './sessions.ts'

interface Flags {
  readonly port: number
  readonly host: string
  readonly sessions?: boolean
  readonly home?: string
  readonly token?: string
  readonly insecure?: boolean
  readonly redact?: boolean
}

const examples = `
Shows every run under DIR, the live ones first: the conversation as it arrives
and, beside it, the raw bytes each part came from. It writes no files and sends
nothing to other machines. --host opens it to others, who then need a token:
set SLUICE_TOKEN, for ps shows what is typed after --token.

--sessions adds the 200 newest session files that agents keep in the home
directory (see sluice sessions), also while they grow. They are only read, and
no other file of the home directory is.

Examples:
  $ npx agent-sluice serve .
  $ npx agent-sluice serve runs --port 8080
  $ npx agent-sluice serve --sessions
  $ export SLUICE_TOKEN=$(openssl rand -hex 16); echo $SLUICE_TOKEN
  $ npx agent-sluice serve --host 0.0.0.0`

/** `sluice serve`: the runs under a directory as a web page. */
export function serveCommand(exit: (code: number) => void): Command {
  return new Command('serve')
    .description('Serves a web page with the runs under a directory, recorded or going on.')
    .argument('[dir]', 'the directory with the runs', '.')
    .option('--port <n>', 'the port; 0 for any free one', portNumber, 4180)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--sessions', 'also show the session files of agents')
    .option('--home <dir>', 'with --sessions: the home directory to look in (default: yours)')
    .addOption(new Option('--token <text>', 'what a reader must know to see the runs').env('SLUICE_TOKEN'))
    .option('--insecure', 'with --host: let everyone who can reach it read, without a token')
    .option('--redact', 'hide keys, tokens and passwords in all that is served')
    .addHelpText('after', examples)
    .action(async (dir: string, { sessions, home, ...flags }: Flags) => {
      if (home !== undefined && !sessions)
        throw new Fault('BAD_OPTION', '--home is for --sessions; add that, or leave it out')
      const { url, close } = await serve({ dir, ...flags, sessions: sessions && { home } })
      const what = sessions ? `${dir} and the sessions of agents` : dir
      console.error(`sluice: serving ${what} at ${url} (Ctrl-C ends it)`)
      if (sessions) tellOpenCode(home)
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await close()
      exit(exits.good)
    })
}

function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError('Give a number between 0 and 65535.')
}
