import { measure, type Pace, type SceneResult } from './measure.ts'
import { workloads } from './workloads/index.ts'

/** What one child process is asked to do; it answers by one message. */
export type Task =
  | { readonly kind: 'workload'; readonly id: string; readonly quick: boolean; readonly pace?: Pace }
  | { readonly kind: 'memory'; readonly name: string; readonly megabytes: number }
  | { readonly kind: 'linear'; readonly rounds: number; readonly minCpuMs: number; readonly bound: number }

const task = JSON.parse(process.argv[2] ?? '') as Task
process.send?.(await answer(task))

async function answer(task: Task): Promise<unknown> {
  switch (task.kind) {
    case 'workload':
      return runWorkload(task)
    case 'memory':
      return (await import('./memory.ts')).measureMemory(task.name, task.megabytes)
    case 'linear':
      return (await import('./linear.ts')).measureLinear(task, (name) => progress(`linear: ${name}`))
  }
}

async function runWorkload({ id, quick, pace }: Task & { kind: 'workload' }): Promise<SceneResult[]> {
  const { title, input, scenes } = await workloads.get(id)!()
  const results: SceneResult[] = []
  for await (const scene of scenes(quick)) {
    progress(`${id}: ${scene.name}`)
    results.push({ id, title, input, ...(await measure(scene, pace)) })
  }
  return results
}

function progress(words: string): void {
  process.stderr.write(`${words}\n`)
}
