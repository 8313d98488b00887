import { useEffect, useState } from 'preact/hooks'
import type { WireDiskReport } from '../../../../api/disk.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { formatBytes, formatTime } from '../parts/format.ts'
import { followWork } from '../server/event-stream.ts'
import { fetchJson, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'
import { Compact } from './compact.tsx'
import { DiskMap } from './disk-map.tsx'
import { Prune } from './prune.tsx'
import { Problem } from '../parts/problem.tsx'

/** The page that shows disk usage and reclaims space. */
export function DiskPage() {
  const [report, setReport] = useState<WireDiskReport>()
  const [problem, setProblem] = useState<string>()
  const [progress, setProgress] = useState<string>()
  const measure = async (): Promise<void> => {
    setProblem(undefined)
    setProgress(texts.disk.measuring)
    try {
      setReport(await followWork<WireDiskReport>('/api/system/df', {}, setProgress))
    } catch (error) {
      setProblem(messageOf(error))
    }
    setProgress(undefined)
  }
  useEffect(() => {
    fetchJson<WireDiskReport>('/api/system/df?cached=true').then(setReport, (error: unknown) =>
      setProblem(messageOf(error)),
    )
  }, [])
  return (
    <>
      <div class="page-head">
        <h1>{texts.titles.disk}</h1>
        <span class="faint" role="status">
          {progress ?? (report && texts.disk.measuredAt(formatTime(report.generated_at)))}
        </span>
        <Button icon="refresh" isDisabled={progress !== undefined} onClick={() => void measure()}>
          {texts.disk.measure}
        </Button>
      </div>
      {problem !== undefined && <Problem>{problem}</Problem>}
      <div class="cards">
        {report === undefined ? (
          problem === undefined && <p class="faint">{texts.loading}</p>
        ) : (
          <>
            <Totals report={report} />
            <DiskMap report={report} />
          </>
        )}
        <Prune onDone={() => void measure()} />
        <Compact onDone={() => void measure()} />
      </div>
    </>
  )
}

function Totals({ report: { totals, notes } }: { readonly report: WireDiskReport }) {
  const labels = texts.disk
  const rows = [
    [labels.kinds.image, totals.images],
    [labels.kinds.workspace, totals.workspaces],
    ...(totals.snapshots === undefined ? [] : [[labels.kinds.snapshot, totals.snapshots] as const]),
    [labels.kinds.orphan, totals.orphans],
    [labels.all, totals.all],
  ] as const
  return (
    <Card title={labels.totals} name="totals" isWide>
      <dl class="tiles">
        {rows.map(([kind, size]) => (
          <div key={kind}>
            <dt>{kind}</dt>
            <dd>
              <strong>{formatBytes(size.physical_bytes)}</strong>
              <span class="faint">{labels.logicalOf(formatBytes(size.logical_bytes))}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p class="faint">{labels.explanation}</p>
      {totals.shared_bytes > 0 && <p class="faint">{labels.shared(formatBytes(totals.shared_bytes))}</p>}
      {notes.map((note) => (
        <p key={note} class="faint">
          {note}
        </p>
      ))}
    </Card>
  )
}
