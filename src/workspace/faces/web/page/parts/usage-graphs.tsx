import { SAMPLES } from '../state/usage.ts'
import type { UsageSample } from '../state/usage-sample.ts'
import { texts } from '../texts.ts'
import { formatBytes, formatPercent } from './format.ts'
import { Sparkline } from './sparkline.tsx'

interface UsageGraphProps {
  /** The workspace's. */
  readonly name: string
  /** At least one; the newest is last. */
  readonly samples: readonly UsageSample[]
}

/** The processor's part over the last samples; the full height is one core, unless more was used. */
export function CpuGraph({ name, samples }: UsageGraphProps) {
  const values = samples.map(({ cpuPercent }) => cpuPercent)
  const label = texts.list.cpu(name, formatPercent(values.at(-1) ?? null))
  return <Sparkline values={values} atLeast={100} room={SAMPLES} label={label} />
}

/** The memory in use over the last samples; the full height is 1 GiB, unless more was used. */
export function MemoryGraph({ name, samples }: UsageGraphProps) {
  const values = samples.map(({ memoryBytes }) => memoryBytes)
  const label = texts.list.memory(name, formatBytes(values.at(-1) ?? 0))
  return <Sparkline values={values} atLeast={2 ** 30} room={SAMPLES} label={label} />
}
