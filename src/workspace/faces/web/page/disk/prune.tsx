import { useState } from 'preact/hooks'
import type { WirePruneReport } from '../../../../api/prune.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { formatBytes } from '../parts/format.ts'
import { WorkLog } from '../parts/work-log.tsx'
import { followWork } from '../server/event-stream.ts'
import { fetchJson, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'
import { DEFAULT_OPTIONS, PruneForm, type PruneOptions, queryOf } from './prune-form.tsx'
import { PruneReview } from './prune-review.tsx'
import { Problem } from '../parts/problem.tsx'

type PruneState =
  | { readonly is: 'configuring'; readonly isBusy: boolean }
  | { readonly is: 'reviewing' | 'confirming'; readonly plan: WirePruneReport }
  | { readonly is: 'deleting'; readonly plan: WirePruneReport }
  | { readonly is: 'done'; readonly report: WirePruneReport }

/** Deletes unused data in three steps: plan, review, confirm. */
export function Prune({ onDone }: { readonly onDone: () => void }) {
  const [options, setOptions] = useState<PruneOptions>(DEFAULT_OPTIONS)
  const [state, setState] = useState<PruneState>({ is: 'configuring', isBusy: false })
  const [problem, setProblem] = useState<string>()
  const [lines, setLines] = useState<readonly string[]>([])
  const startAgain = (): void => setState({ is: 'configuring', isBusy: false })
  const plan = async (): Promise<void> => {
    setProblem(undefined)
    setState({ is: 'configuring', isBusy: true })
    try {
      const path = `/api/system/prune?${queryOf(options)}`
      setState({ is: 'reviewing', plan: await fetchJson<WirePruneReport>(path, { method: 'POST' }) })
    } catch (error) {
      setProblem(messageOf(error))
      startAgain()
    }
  }
  const apply = async (confirmed: WirePruneReport): Promise<void> => {
    setLines([])
    setState({ is: 'deleting', plan: confirmed })
    try {
      const path = `/api/system/prune?plan_id=${encodeURIComponent(confirmed.plan_id)}`
      const onProgress = (line: string): void => setLines((before) => [...before, line])
      const report = await followWork<WirePruneReport>(path, { method: 'POST' }, onProgress)
      setState({ is: 'done', report })
      onDone()
    } catch (error) {
      setProblem(messageOf(error))
      startAgain()
    }
  }
  return (
    <Card title={texts.prune.title} name="prune" isWide>
      {problem !== undefined && <Problem>{problem}</Problem>}
      {state.is === 'configuring' && (
        <PruneForm
          options={options}
          onOptions={setOptions}
          isBusy={state.isBusy}
          onPlan={() => void plan()}
        />
      )}
      {(state.is === 'reviewing' || state.is === 'confirming') && (
        <>
          <PruneReview report={state.plan} />
          <div class="form-actions">
            {state.plan.items.length > 0 && (
              <Button kind="danger" onClick={() => setState({ ...state, is: 'confirming' })}>
                {texts.prune.delete(
                  state.plan.totals.items,
                  formatBytes(state.plan.totals.freed.physical_bytes),
                )}
              </Button>
            )}
            <Button onClick={startAgain}>{texts.prune.back}</Button>
          </div>
        </>
      )}
      {state.is === 'confirming' && (
        <Dialog title={texts.prune.confirmTitle} onClose={() => setState({ ...state, is: 'reviewing' })}>
          <p>
            {texts.prune.confirm(
              state.plan.totals.items,
              formatBytes(state.plan.totals.freed.physical_bytes),
            )}
          </p>
          <div class="dialog-actions">
            <Button onClick={() => setState({ ...state, is: 'reviewing' })}>{texts.cancel}</Button>
            <Button kind="danger" icon="delete" onClick={() => void apply(state.plan)}>
              {texts.prune.confirmAction}
            </Button>
          </div>
        </Dialog>
      )}
      {state.is === 'deleting' && (
        <>
          <p role="status">{texts.prune.busy}</p>
          <WorkLog lines={lines} />
        </>
      )}
      {state.is === 'done' && (
        <>
          <PruneReview report={state.report} />
          <div class="form-actions">
            <Button onClick={startAgain}>{texts.prune.again}</Button>
          </div>
        </>
      )}
    </Card>
  )
}
