import { useState } from 'preact/hooks'
import type { WireCompactReport } from '../../../../api/prune.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { formatBytes } from '../parts/format.ts'
import { Problem } from '../parts/problem.tsx'
import { useAction } from '../parts/use-action.ts'
import { WorkLog } from '../parts/work-log.tsx'
import { followWork } from '../server/event-stream.ts'
import { texts } from '../texts.ts'

/** Reclaims space freed by guests. It loses no data, so it does not ask for confirmation. */
export function Compact({ onDone }: { readonly onDone: () => void }) {
  const [lines, setLines] = useState<readonly string[]>([])
  const [report, setReport] = useState<WireCompactReport>()
  const labels = texts.compact
  const { isBusy, problem, start } = useAction(async () => {
    setLines([])
    setReport(undefined)
    const onProgress = (line: string): void => setLines((before) => [...before, line])
    setReport(await followWork<WireCompactReport>('/api/system/compact', { method: 'POST' }, onProgress))
    onDone()
  })
  return (
    <Card title={labels.title} name="compact" isWide>
      <p class="faint">{labels.description}</p>
      <Button isDisabled={isBusy} onClick={start}>
        {isBusy ? labels.busy : labels.start}
      </Button>
      {lines.length > 0 && <WorkLog lines={lines} />}
      {problem !== undefined && <Problem>{problem}</Problem>}
      {report !== undefined && (
        <>
          <p role="status">
            <strong>
              {labels.done(report.totals.items, formatBytes(report.totals.freed.physical_bytes))}
            </strong>
          </p>
          <ul class="lines">
            {report.items.map(({ name, freed, error }) => (
              <li key={name}>
                <span class="grow">{name}</span>
                {error === undefined ? (
                  formatBytes(freed.physical_bytes)
                ) : (
                  <span class="problem">{error}</span>
                )}
              </li>
            ))}
            {report.skipped.map(({ name, reason }) => (
              <li key={name}>
                <span class="grow">{name}</span>
                <span class="faint">{reason}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}
