import { useEffect, useState } from 'preact/hooks'
import type { WireDiskReport } from '../../../../api/disk.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { formatBytes, formatTime } from '../parts/format.ts'
import { followWork } from '../server/event-stream.ts'
import { ask, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'
import { Compact } from './compact.tsx'
import { DiskMap } from './disk-map.tsx'
import { Prune } from './prune.tsx'

/** What is on the disk, and how to have less of it. */
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
    ask<WireDiskReport>('/api/system/df?cached=true').then(setReport, (error: unknown) =>
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
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
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
  const words = texts.disk
  const rows = [
    [words.kinds.image, totals.images],
    [words.kinds.workspace, totals.workspaces],
    ...(totals.snapshots === undefined ? [] : [[words.kinds.snapshot, totals.snapshots] as const]),
    [words.kinds.orphan, totals.orphans],
    [words.all, totals.all],
  ] as const
  return (
    <Card title={words.totals} name="totals" isWide>
      <dl class="tiles">
        {rows.map(([kind, size]) => (
          <div key={kind}>
            <dt>{kind}</dt>
            <dd>
              <strong>{formatBytes(size.physical_bytes)}</strong>
              <span class="faint">{words.logicalOf(formatBytes(size.logical_bytes))}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p class="faint">{words.meaning}</p>
      {totals.shared_bytes > 0 && <p class="faint">{words.shared(formatBytes(totals.shared_bytes))}</p>}
      {notes.map((note) => (
        <p key={note} class="faint">
          {note}
        </p>
      ))}
    </Card>
  )
}
