import { Card } from '../parts/card.tsx'
import { formatBytes, formatPercent } from '../parts/format.ts'
import { CpuGraph, MemoryGraph } from '../parts/usage-graphs.tsx'
import { useStore } from '../state/store.ts'
import { usage } from '../state/usage.ts'
import { texts } from '../texts.ts'

/** CPU and memory usage over the last two minutes. */
export function UsageCard({ name, isRunning }: { readonly name: string; readonly isRunning: boolean }) {
  const samples = useStore(usage, (all) => all.get(name)) ?? []
  const last = samples.at(-1)
  if (!isRunning || last === undefined) {
    return (
      <Card title={texts.usage.title} name="usage">
        <p class="faint">{isRunning ? texts.usage.waiting : texts.usage.notRunning}</p>
      </Card>
    )
  }
  return (
    <Card title={texts.usage.title} name="usage">
      <div class="gauge">
        <span>{texts.usage.cpu}</span>
        <strong>{formatPercent(last.cpuPercent)}</strong>
        <CpuGraph name={name} samples={samples} />
      </div>
      <div class="gauge">
        <span>{texts.usage.memory}</span>
        <strong>{formatBytes(last.memoryBytes)}</strong>
        <MemoryGraph name={name} samples={samples} />
      </div>
    </Card>
  )
}
