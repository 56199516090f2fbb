import { median, type SceneResult } from './measure.ts'
import type { Results } from './results.ts'

const WIDTH = 860
const LABELS = 250
const BAR = 18
const TITLE = 34

/**
 * One group of bars for each workload, each scaled to its own fastest: MB per CPU second, longer is better.
 */
export function plot(results: Results): string {
  let top = 44
  const groups: string[] = []
  for (const scene of firstScenes(results)) {
    groups.push(group(scene, top))
    top += TITLE + BAR * measured(scene).length + 14
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img">
<title>MB per CPU second, by workload</title>
<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 13px }
  .quiet { fill: #57606a }
  .ours { fill: #0969da } .peer { fill: #afb8c1 } .limit { fill: none; stroke: #8c959f; stroke-dasharray: 3 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .ours { fill: #4493f8 } .peer { fill: #59636e } .limit { stroke: #9198a1 }
  }
</style>
<text x="10" y="22" class="title">MB per CPU second, longer is better</text>
<text x="${WIDTH - 10}" y="22" text-anchor="end" class="quiet">blue: agent-sluice, grey: peers, dashed: the limit</text>
${groups.join('\n')}
</svg>
`
}

function firstScenes({ scenes }: Results): SceneResult[] {
  return scenes.filter(
    ({ id, clock }, index) => clock !== 'wait' && scenes.findIndex((scene) => scene.id === id) === index,
  )
}

/**
 * Without the limit of whole programs: grep parses nothing, and beside its bar the others would not be seen.
 */
function measured({ candidates, clock }: SceneResult) {
  return candidates
    .filter(({ role, speeds }) => speeds.length > 0 && !(clock === 'wall' && role === 'limit'))
    .map(({ name, role, speeds }) => ({ name, role, speed: median(speeds) }))
    .toSorted((a, b) => b.speed - a.speed)
}

function group(scene: SceneResult, top: number): string {
  const bars = measured(scene)
  const longest = WIDTH - LABELS - 80
  const scale = longest / (bars[0]?.speed ?? 1)
  const words =
    scene.clock === 'wall'
      ? `${scene.scene}; MB per second on the wall`
      : scene.unit === 'thousands'
        ? `${scene.scene}; thousands per CPU second`
        : scene.scene
  const title = `<text x="10" y="${top + 16}" class="title">${escaped(`${scene.id}: ${scene.title}`)}<tspan class="quiet" font-weight="400">  ${escaped(words)}</tspan></text>`
  const rows = bars.map(({ name, role, speed }, index) => {
    const y = top + TITLE - 8 + index * BAR
    const width = Math.max(1, speed * scale).toFixed(1)
    return [
      `<text x="${LABELS - 8}" y="${y + 12}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${LABELS}" y="${y + 2}" width="${width}" height="${BAR - 5}" rx="2" class="${role}"/>`,
      `<text x="${LABELS + Number(width) + 6}" y="${y + 12}" class="quiet">${speed < 10 ? speed.toFixed(1) : speed.toFixed(0)}</text>`,
    ].join('')
  })
  return [title, ...rows].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
