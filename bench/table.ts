import { type CandidateResult, median, ratio, type SceneResult } from './measure.ts'
import type { Results } from './results.ts'
import { bestPeer, groups, limitOf, MAX_RATIO, verdicts } from './verdict.ts'

/** The results as Markdown: goals first, then what they were read from. */
export function table(results: Results): string {
  return [
    head(results),
    goals(results),
    ...workloadsOf(results).map((scenes) => workload(scenes, results.rounds > 0)),
    memory(results),
    linear(results),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function head({ machine, date, command, rounds, quick }: Results): string {
  const how =
    rounds === 0
      ? 'Answers were checked, nothing was timed.'
      : `${rounds} rounds in rotated order after a warm-up${quick ? ', smaller inputs: a quick run, so the figures are rough' : ''}.`
  return `${machine.cpu}, ${machine.cores} cores, ${machine.memory}, ${machine.system}, Node ${machine.node}, ${date}: \`${command}\`. ${how}`
}

function goals(results: Results): string {
  const rows = verdicts(results).map(({ id, goal, measured, met, moot }) => [
    id,
    goal,
    measured,
    met ? 'met' : (moot ?? '**missed**'),
  ])
  return section('Goals', ['', 'goal', 'measured', ''], rows)
}

function workloadsOf({ scenes }: Results): SceneResult[][] {
  const ids = [...new Set(scenes.map(({ id }) => id))]
  return ids.map((id) => scenes.filter((scene) => scene.id === id))
}

function workload(scenes: readonly SceneResult[], timed: boolean): string {
  const { id, title, input, clock, unit } = scenes[0]!
  const rows = scenes.flatMap((scene) =>
    scene.candidates.map((candidate, index) => [
      index > 0
        ? ''
        : scene.bytes === 0
          ? scene.scene
          : `${scene.scene} (${(scene.bytes / 1e6).toFixed(1)} MB)`,
      nameOf(candidate),
      ...figures(candidate, scene, timed),
    ]),
  )
  const speed = clock === 'wait' ? 'ms' : `${unit} per ${clock === 'wall' ? 's' : 'CPU s'}`
  const columns = ['reading', 'candidate', speed, 'range', '× best peer', 'of the limit']
  return section(`${id}: ${title} (${input})`, columns, rows)
}

function nameOf({ name, role }: CandidateResult): string {
  if (role === 'ours') return `**${name}**`
  return role === 'limit' ? `limit: ${name}` : name
}

function figures(candidate: CandidateResult, scene: SceneResult, timed: boolean): string[] {
  if (candidate.skipped !== undefined) return [`skipped: ${candidate.skipped}`, '', '', '']
  if (candidate.wrong) return [`WRONG: ${candidate.wrong}`, '', '', '']
  if (!timed) return ['right', '', '', '']
  const { speeds } = candidate
  const peer = bestPeer(scene)
  const limit = limitOf(scene)
  return [
    round(median(speeds)),
    `${round(Math.min(...speeds))} to ${round(Math.max(...speeds))}`,
    peer ? ratio(candidate, peer).toFixed(2) : '',
    limit ? ratio(candidate, limit).toFixed(2) : '',
  ]
}

function round(speed: number): string {
  return speed < 10 ? speed.toFixed(1) : speed.toFixed(0)
}

function memory(results: Results): string {
  const sizes = [...new Set(results.memory.map(({ megabytes }) => megabytes))]
  const rows = groups(results.memory).map((group) => [
    group[0]!.input,
    group[0]!.role === 'ours' ? `**${group[0]!.name}**` : group[0]!.name,
    ...group.map(({ peak, wrong }) => (wrong ? `WRONG: ${wrong}` : peak.toFixed(0))),
    (group.at(-1)!.peak - group[0]!.peak).toFixed(1),
  ])
  const columns = ['input', 'reader', ...sizes.map((size) => `${size} MB`), 'growth']
  return section('M: peak memory (MB of RSS, each in a process of its own)', columns, rows)
}

function linear(results: Results): string {
  const rows = results.linear.map(({ name, reader, bytes, once, twice, ratio }) => [
    name,
    reader,
    `${(bytes / 1024).toFixed(0)} KiB`,
    once.toFixed(1),
    twice.toFixed(1),
    `${ratio.toFixed(2)}${ratio > MAX_RATIO ? ' **too much**' : ''}`,
  ])
  const columns = ['input', 'reader', 'n', 'CPU ms at n', 'at 2n', 'ratio']
  return section(`Linear: hostile input, twice as much of it (ratio ≤ ${MAX_RATIO})`, columns, rows)
}

function section(title: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [`### ${title}`, '', line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n')
}
