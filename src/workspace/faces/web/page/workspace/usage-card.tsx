import { Card } from '../parts/card.tsx'
import { formatBytes, formatPercent } from '../parts/format.ts'
import { Sparkline } from '../parts/sparkline.tsx'
import { useStore } from '../state/store.ts'
import { usage } from '../state/usage.ts'
import { texts } from '../texts.ts'

const GIB = 2 ** 30

/** Processor and memory over the last two minutes. */
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
  const cpu = formatPercent(last.cpuPercent)
  const memory = formatBytes(last.memoryBytes)
  return (
    <Card title={texts.usage.title} name="usage">
      <div class="gauge">
        <span>{texts.usage.cpu}</span>
        <strong>{cpu}</strong>
        <Sparkline
          values={samples.map(({ cpuPercent }) => cpuPercent)}
          atLeast={100}
          room={60}
          label={texts.list.cpu(name, cpu)}
        />
      </div>
      <div class="gauge">
        <span>{texts.usage.memory}</span>
        <strong>{memory}</strong>
        <Sparkline
          values={samples.map(({ memoryBytes }) => memoryBytes)}
          atLeast={GIB}
          room={60}
          label={texts.list.memory(name, memory)}
        />
      </div>
    </Card>
  )
}
