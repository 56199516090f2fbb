import type { Command } from 'commander'

/** Creates one command. Its action passes the exit code on. */
type MakeCommand = (exit: (code: number) => void) => Command

interface Entry {
  /** The line of `sluice --help`. */
  readonly summary: string
  readonly load: () => Promise<MakeCommand>
}

/**
 * Every command, one file each. A file is loaded only for its command: the engines, the server and
 * the parsers take longer to load than `sluice --version` takes in total.
 */
export const commands: Readonly<Record<string, Entry>> = {
  values: {
    summary: 'find, repair and validate the payloads in agent output',
    load: async () => (await import('./commands/values.ts')).valuesCommand,
  },
  events: {
    summary: 'the output of an agent as events',
    load: async () => (await import('./commands/events.ts')).eventsCommand,
  },
  chat: {
    summary: 'the output of an agent as a conversation',
    load: async () => (await import('./commands/chat.ts')).chatCommand,
  },
  run: {
    summary: 'run an agent, record it and show the conversation',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  replay: {
    summary: 'read a recorded run again',
    load: async () => (await import('./commands/replay.ts')).replayCommand,
  },
  export: {
    summary: 'write a run as one file to share: Markdown, a page or JSON',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  serve: {
    summary: 'show recorded and live runs as a web page',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  ship: {
    summary: 'send runs to NATS JetStream',
    load: async () => (await import('./commands/ship.ts')).shipCommand,
  },
  mirror: {
    summary: 'store the runs that were sent to NATS as directories',
    load: async () => (await import('./commands/mirror.ts')).mirrorCommand,
  },
  work: {
    summary: 'run a worker on an order and post its result once',
    load: async () => (await import('./commands/work.ts')).workCommand,
  },
  ask: {
    summary: 'ask any command that reads a prompt until its answer parses',
    load: async () => (await import('./commands/ask.ts')).askCommand,
  },
  engines: {
    summary: 'list the supported agents',
    load: async () => (await import('./commands/engines.ts')).enginesCommand,
  },
  sessions: {
    summary: 'list the session files of agents',
    load: async () => (await import('./commands/sessions.ts')).sessionsCommand,
  },
  why: {
    summary: 'explain in at most ten lines what went wrong in a run',
    load: async () => (await import('./commands/why.ts')).whyCommand,
  },
  drift: {
    summary: 'list what the engines do not know in recorded runs',
    load: async () => (await import('./commands/drift.ts')).driftCommand,
  },
  completion: {
    summary: 'print a script that lets your shell complete this command line',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
}
