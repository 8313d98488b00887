import { useState } from 'preact/hooks'
import type { WireCompactReport } from '../../../../api/prune.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { formatBytes } from '../parts/format.ts'
import { WorkLog } from '../parts/work-log.tsx'
import { followWork } from '../server/event-stream.ts'
import { messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

/** Reclaims space freed by guests. It loses no data, so it does not ask for confirmation. */
export function Compact({ onDone }: { readonly onDone: () => void }) {
  const [lines, setLines] = useState<readonly string[]>([])
  const [report, setReport] = useState<WireCompactReport>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const labels = texts.compact
  const compact = async (): Promise<void> => {
    setBusy(true)
    setLines([])
    setProblem(undefined)
    setReport(undefined)
    try {
      const onProgress = (line: string): void => setLines((before) => [...before, line])
      setReport(await followWork<WireCompactReport>('/api/system/compact', { method: 'POST' }, onProgress))
      onDone()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <Card title={labels.title} name="compact" isWide>
      <p class="faint">{labels.description}</p>
      <Button isDisabled={isBusy} onClick={() => void compact()}>
        {isBusy ? labels.busy : labels.start}
      </Button>
      {lines.length > 0 && <WorkLog lines={lines} />}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
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
