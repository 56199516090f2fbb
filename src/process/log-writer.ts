import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import type { Readable } from 'node:stream'
import { Fault, quote } from '../base/fault.ts'
import { diskFault, onDisk } from '../base/system-error-code.ts'
import type { OutputChannel } from '../text/chunk.ts'
import type { TextRedactor } from '../views/redact/redact.ts'
import { withoutTerminals } from './process.ts'
import {
  asBytes,
  bothPipes,
  type RealPipe,
  type Recorder,
  type Recorders,
  type ScreenRecorder,
  waitingIn,
  whenOver,
} from './recorder.ts'
import { RedactedLog } from './redacted-log.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NONBLOCK, O_NOFOLLOW } = fs.constants

/**
 * Records into log files. `here` records in this process what a stand-in for a child prints; with `hide`,
 * everything is recorded here, without its secrets.
 */
export function logRecorders(
  logs: Readonly<Record<OutputChannel, string>>,
  wake: () => void,
  here: boolean,
  hide: TextRedactor | undefined,
): Recorders {
  const recorded = (channel: OutputChannel) =>
    recordHere(logs[channel], createLog(logs[channel]), wake, hide && new RedactedLog(hide))
  // A `cat` from elsewhere would open a window on Windows, and its pipe cannot be handed to the agent.
  const inProcess = here || hide !== undefined || process.platform === 'win32'
  return {
    pipes: (mirror) =>
      bothPipes(!inProcess, (channel, pipe) =>
        inProcess ? recorded(channel) : record(logs[channel], wake, pipe, mirror),
      ),
    terminal: () => recorded('pty'),
  }
}

/**
 * Records in a separate process (`cat`, 1 MB): if we are killed, the agent does not lose its pipe, the bytes
 * in it are not lost, and its log is complete up to the last byte it wrote. We read the log like any other
 * reader. If there is no `cat`, the bytes go through this process.
 *
 * With `mirror`, the descriptor of a terminal, the process is a `tee` that also shows the bytes there.
 */
export function record(
  path: string,
  wake: () => void,
  pipe?: RealPipe | undefined,
  mirror?: number,
): Recorder {
  const fd = createLog(path)
  const input = pipe?.reader ?? 'pipe'
  const [command, ...args] = mirror === undefined ? CAT : TEE
  const cat = spawn(command, args, {
    // Its own session, so that Ctrl-C does not reach it, and another directory, so that ours can be removed.
    detached: true,
    cwd: '/',
    stdio: withoutTerminals(mirror === undefined ? [input, fd, 'ignore'] : [input, mirror, 'pipe', fd]),
  })
  if (pipe) fs.closeSync(pipe.reader)
  if (cat.pid === undefined) {
    cat.on('error', () => {})
    if (pipe) fs.closeSync(pipe.writer)
    return recordHere(path, fd, wake)
  }
  fs.closeSync(fd)
  let stopped = false
  return {
    pid: cat.pid,
    stdio: pipe?.writer ?? cat.stdin!,
    ended: catEnded(cat, path, () => stopped).finally(wake),
    isBehind: () => false,
    drop() {},
    attach() {},
    release: () => (pipe ? fs.closeSync(pipe.writer) : void cat.stdin!.destroy()),
    stop() {
      stopped = true
      cat.kill('SIGKILL')
    },
  }
}

const CAT = ['cat'] as const
/** Where `tee` finds the log: by its descriptor, because the name may lead elsewhere by now. */
const TEE_LOG = '/dev/fd/3'
/**
 * When we are killed, the terminal is gone, and `tee` writes an error to a closed pipe. That must not end it,
 * because the log continues.
 */
const TEE = ['/bin/sh', '-c', `trap '' PIPE; exec tee ${TEE_LOG}`] as const

/** Names of the terminal in error messages of GNU and BSD. */
const TEE_STDOUT = ['standard output', 'stdout']

export function createLog(path: string): number {
  const open = () => fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
  return onDisk('record into', path, open, 'RECORD_FAILED')
}

async function catEnded(cat: ChildProcess, path: string, stopped: () => boolean): Promise<void> {
  let said = ''
  // Of `tee` only: a pipe for each `cat` would be one more open file of ours for each stream of a run.
  cat.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, 200)
    // `tee` would continue without the log.
    if (said.includes(TEE_LOG)) cat.kill('SIGKILL')
  })
  const how = await new Promise<number | string | null>((resolve) => {
    cat.once('close', (code, signal) => resolve(signal ?? code))
  })
  // A terminal that hung up does not affect the log.
  const onlyTerminal = how === 1 && TEE_STDOUT.some((name) => said.includes(name))
  if (how !== 0 && !onlyTerminal && !stopped()) {
    onDisk('record into', path, () => tryToAppend(path), 'RECORD_FAILED')
    const why = said === '' ? `its recorder ended with ${how}` : quote(said.trim(), 120)
    throw new Fault('RECORD_FAILED', `cannot record into ${quote(path, 200)}: ${why}`)
  }
}

/** Fails as a recorder has failed that could not write: nobody heard why. Else the log stays as it is. */
function tryToAppend(path: string): void {
  // Another process may have put a FIFO or a link there.
  const fd = fs.openSync(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOFOLLOW)
  try {
    const { size } = fs.fstatSync(fd)
    fs.writeSync(fd, '\n')
    fs.ftruncateSync(fd, size)
  } finally {
    fs.closeSync(fd)
  }
}

/** Records in this process: for pseudo-terminals, if `cat` is missing, and to hide secrets. */
export function recordHere(
  path: string,
  fd: number,
  wake: () => void,
  redacted?: RedactedLog,
): ScreenRecorder {
  let closed = false
  let source: Readable | undefined
  let done!: () => void
  let fail!: (error: unknown) => void
  const ended = new Promise<void>((resolve, reject) => {
    done = resolve
    fail = reject
  })
  const close = () => {
    if (redacted) append(redacted.end())
    if (closed) return
    closed = true
    fs.closeSync(fd)
    done()
    wake()
  }
  const write = (bytes: Uint8Array) => {
    if (!redacted) return append(bytes)
    const shown = redacted.write(bytes)
    if (shown.length > 0) return append(shown)
    // It has written, though its line has not ended.
    const now = new Date()
    if (!closed) fs.futimesSync(fd, now, now)
  }
  const append = (bytes: Uint8Array) => {
    if (closed) return
    try {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at)
    } catch (error) {
      closed = true
      fs.closeSync(fd)
      fail(diskFault('record into', path, error, 'RECORD_FAILED'))
    }
    wake()
  }
  return {
    pid: undefined,
    stdio: 'pipe',
    ended,
    isBehind: () => source !== undefined && waitingIn(source) > 0,
    drop() {},
    attach(stream) {
      // Cast: a Readable, as all streams of processes are.
      source = stream as Readable
      whenOver(
        source.on('data', (data) => write(asBytes(data)!)),
        close,
      )
    },
    release() {},
    stop() {
      source?.destroy()
      close()
    },
    write,
  }
}
