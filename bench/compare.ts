import { median, ratio } from './measure.ts'
import type { Results } from './results.ts'
import { bestPeer } from './verdict.ts'

/**
 * What changed for us since an older run. Two runs never have the same weather, so the place beside the best
 * peer of the same run is shown too: where only the speed changed, it was the machine.
 */
export function compare(older: Results, newer: Results): string {
  const before = placesOf(older)
  const rows = [...placesOf(newer)].flatMap(([name, now]) => {
    const then = before.get(name)
    if (!then) return []
    const change = ((now.speed / then.speed - 1) * 100).toFixed(0)
    return `| ${name} | ${then.speed.toFixed(0)} | ${now.speed.toFixed(0)} | ${change} % | ${then.place} | ${now.place} |`
  })
  const columns = '| | MB per CPU s before | now | change | × best peer before | now |'
  return [
    `### Changes since ${older.date}`,
    '',
    columns,
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function placesOf({ scenes }: Results): Map<string, { speed: number; place: string }> {
  const places = new Map<string, { speed: number; place: string }>()
  for (const scene of scenes) {
    if (scene.clock === 'wait') continue
    const peer = bestPeer(scene)
    for (const candidate of scene.candidates) {
      if (candidate.role !== 'ours' || candidate.speeds.length === 0) continue
      const place = peer ? ratio(candidate, peer).toFixed(2) : ''
      places.set(`${scene.id}, ${scene.scene}: ${candidate.name}`, { speed: median(candidate.speeds), place })
    }
  }
  return places
}
