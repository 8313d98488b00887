import type { Static } from 'typebox'
import type { usageSchema } from '../../../../api/usage.ts'
import { follow } from '../server/follow.ts'
import { Store } from './store.ts'
import type { UsageSample } from './usage-sample.ts'

/** Number of samples kept for each workspace: two minutes. */
export const SAMPLES = 60

/** Usage samples by workspace, newest last. */
export const usage = new Store<ReadonlyMap<string, readonly UsageSample[]>>(new Map())

type WireUsage = Static<typeof usageSchema>

let readers = 0
let end: () => void = () => undefined

/** Updates the store while at least one component uses it; returns a function that stops. */
export function followUsage(): () => void {
  if (readers++ === 0) end = follow('/api/usage', { onEvent: ({ data }) => addSamples(data as WireUsage) })
  return () => {
    if (--readers > 0) return
    end()
    usage.set(new Map())
  }
}

function addSamples({ workspaces }: WireUsage): void {
  const before = usage.value
  usage.set(
    new Map(
      workspaces.map(({ name, cpu_percent: cpuPercent, memory_bytes: memoryBytes }) => {
        const samples = before.get(name) ?? []
        return [name, [...samples.slice(1 - SAMPLES), { cpuPercent, memoryBytes }]]
      }),
    ),
  )
}
