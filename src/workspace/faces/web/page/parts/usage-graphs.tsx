import { SAMPLES } from '../state/usage.ts'
import type { UsageSample } from '../state/usage-sample.ts'
import { texts } from '../texts.ts'
import { formatBytes, formatPercent } from './format.ts'
import { Sparkline } from './sparkline.tsx'

interface UsageGraphProps {
  /** Name of the workspace. */
  readonly name: string
  /** At least one sample, newest last. */
  readonly samples: readonly UsageSample[]
}

/** CPU usage over the last samples; full height is one core, or the maximum if higher. */
export function CpuGraph({ name, samples }: UsageGraphProps) {
  const values = samples.map(({ cpuPercent }) => cpuPercent)
  const label = texts.list.cpu(name, formatPercent(values.at(-1) ?? null))
  return <Sparkline values={values} atLeast={100} capacity={SAMPLES} label={label} />
}

/** Memory usage over the last samples; full height is 1 GiB, or the maximum if higher. */
export function MemoryGraph({ name, samples }: UsageGraphProps) {
  const values = samples.map(({ memoryBytes }) => memoryBytes)
  const label = texts.list.memory(name, formatBytes(values.at(-1) ?? 0))
  return <Sparkline values={values} atLeast={2 ** 30} capacity={SAMPLES} label={label} />
}
