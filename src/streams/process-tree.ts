import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

/** One process: its pid, and its start time, which differs if the pid is reused. */
export interface Process {
  readonly pid: number
  readonly parent: number
  /** Its start time, as the system writes it. */
  readonly started: string
  readonly zombie: boolean
}

/** The stat of a process on Linux; undefined if it is gone, and on other systems. */
export function processStat(pid: number): Process | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain anything; after it come the state, the parent and, 18 fields later,
    // the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { pid, parent: Number(fields[1]), started: fields[19] ?? '', zombie: fields[0] === 'Z' }
  } catch {
    return undefined
  }
}

/** The matching processes and all their descendants, as far as the parents of those are still running. */
export function processTree(isMeant: (one: Process) => boolean): Set<Process> {
  const all = everyProcess()
  const children = new Map<number, Process[]>()
  for (const one of all) children.set(one.parent, [])
  for (const one of all) children.get(one.parent)?.push(one)
  const tree = new Set(all.filter(isMeant))
  // It grows during the loop: each process adds its children.
  for (const { pid } of tree) for (const child of children.get(pid) ?? []) tree.add(child)
  return tree
}

function everyProcess(): Process[] {
  let names: string[] = []
  try {
    names = process.platform === 'linux' ? fs.readdirSync('/proc') : []
  } catch {}
  const found = names.flatMap((name) => (Number(name) > 0 ? (processStat(Number(name)) ?? []) : []))
  return found.length > 0 ? found : listedByPs()
}

function listedByPs(): Process[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,state=,lstart='], { encoding: 'utf8' })
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [pid, parent, state = '', ...start] = line.trim().split(' ').filter(Boolean)
    if (parent === undefined) return []
    return {
      pid: Number(pid),
      parent: Number(parent),
      started: start.join(' '),
      zombie: state.startsWith('Z'),
    }
  })
}
