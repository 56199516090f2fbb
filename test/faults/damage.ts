import {
  appendFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { below, pickOne, type Random } from '../values/random-document.ts'

/** Damages one file of an audit directory. */
type Damage = (path: string, random: Random) => void

function onLines(change: (lines: string[], random: Random) => void): Damage {
  return (path, random) => {
    const lines = readFileSync(path, 'latin1').split('\n').slice(0, -1)
    if (lines.length === 0) return
    change(lines, random)
    writeFileSync(path, lines.map((line) => `${line}\n`).join(''), 'latin1')
  }
}

const damages: Readonly<Record<string, Damage>> = {
  'cut anywhere': (path, random) => truncateSync(path, below(lstatSync(path).size + 1, random)),
  'a bit flipped': (path, random) => {
    const bytes = readFileSync(path)
    const at = below(bytes.length, random)
    if (bytes.length > 0) bytes[at] = bytes[at]! ^ (1 << below(8, random))
    writeFileSync(path, bytes)
  },
  'bytes overwritten with zeros': (path, random) => {
    const bytes = readFileSync(path)
    const at = below(bytes.length + 1, random)
    writeFileSync(path, bytes.fill(0, at, Math.min(bytes.length, at + 1 + below(200, random))))
  },
  'bytes cut out': (path, random) => {
    const bytes = readFileSync(path)
    const at = below(bytes.length + 1, random)
    writeFileSync(path, Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(300, random))]))
  },
  'a line doubled': onLines((lines, random) => {
    const at = below(lines.length, random)
    lines.splice(at, 0, lines[at]!)
  }),
  'a line dropped': onLines((lines, random) => lines.splice(below(lines.length, random), 1)),
  'two lines swapped': onLines((lines, random) => {
    const [a, b] = [below(lines.length, random), below(lines.length, random)]
    const kept = lines[a]!
    lines[a] = lines[b]!
    lines[b] = kept
  }),
  'a line of something else': onLines((lines, random) => {
    const strange = [
      '{"a":1}',
      'null',
      '7',
      '[]',
      '"x"',
      'words',
      '\0\0\0',
      '{"run_id":"x\\n\\ny","seq":1e99}',
      '',
    ]
    lines.splice(below(lines.length + 1, random), 0, pickOne(strange, random)!)
  }),
  'all of it twice': (path) => appendFileSync(path, readFileSync(path)),
  'a tail of nonsense': (path, random) =>
    appendFileSync(path, Buffer.alloc(1 + below(5000, random), below(256, random))),
  emptied: (path) => truncateSync(path, 0),
  removed: (path) => rmSync(path),
  'a directory in its place': (path) => {
    rmSync(path)
    mkdirSync(path)
  },
  'a link in its place': (path) => {
    renameSync(path, `${path}.real`)
    symlinkSync(`${path}.real`, path)
  },
  'a link to nowhere in its place': (path) => {
    rmSync(path)
    symlinkSync('nowhere', path)
  },
  'other JSON in its place': (path, random) => {
    const strange = [
      '{}',
      '[]',
      'null',
      '{"exit_code":"0","pid":-1,"complete":"yes","started_at":5}',
      '{"complete":false}',
    ]
    writeFileSync(path, `${strange[below(strange.length, random)]}\n`)
  },
}

/** Damages a directory once to three times, and says how: `events.jsonl: a line dropped`. */
export function damage(dir: string, random: Random): string[] {
  const done: string[] = []
  const names = Object.keys(damages)
  for (let left = 1 + below(3, random); left > 0; left--) {
    const files = readdirSync(dir)
      .filter((name) => !name.endsWith('.real'))
      .sort()
    // The journal is what most doors read.
    const file = random() < 0.4 ? 'events.jsonl' : pickOne(files, random)!
    const path = join(dir, file)
    if (!existsSync(path) || !lstatSync(path).isFile()) continue
    const how = pickOne(names, random)!
    damages[how]!(path, random)
    done.push(`${file}: ${how}`)
  }
  // Logs that were just written, with no meta beside them, would be those of a run that goes on.
  for (const name of readdirSync(dir)) lutimesSync(join(dir, name), 1000, 1000)
  return done
}
