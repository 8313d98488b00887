import { useState } from 'preact/hooks'
import type { WireCheckpoint } from '../../../../api/checkpoint.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { formatBytes, formatTime } from '../parts/format.ts'
import { Problem } from '../parts/problem.tsx'
import { QueryView } from '../parts/query-view.tsx'
import { useAction } from '../parts/use-action.ts'
import { useQuery } from '../parts/use-query.ts'
import { fetchJson } from '../server/request.ts'
import { texts } from '../texts.ts'

/** The server takes and deletes checkpoints by itself, which changes nothing else on the page. */
const EVERY_MS = 30_000

/** A checkpoint, and what the user wants to do with it. */
interface Chosen {
  readonly action: 'rewind' | 'delete'
  readonly checkpoint: WireCheckpoint
}

/** Checkpoints of a workspace, newest first: take, rewind to, delete. */
export function Checkpoints({ workspace }: { readonly workspace: WireWorkspace }) {
  const path = `/api/workspaces/${encodeURIComponent(workspace.name)}`
  const query = useQuery<{ readonly checkpoints: readonly WireCheckpoint[] }>(
    `${path}/checkpoints`,
    EVERY_MS,
    workspace,
  )
  const [chosen, setChosen] = useState<Chosen>()
  const labels = texts.checkpoints
  const taking = useAction(async () => {
    await fetchJson(`${path}/checkpoints`, { method: 'POST', body: {} })
    query.reload()
  })
  const take = (
    <Button icon="add" isDisabled={taking.isBusy} onClick={taking.start}>
      {taking.isBusy ? labels.taking : labels.take}
    </Button>
  )
  return (
    <Card title={labels.title} name="checkpoints" actions={take}>
      {taking.problem !== undefined && <Problem>{taking.problem}</Problem>}
      <QueryView query={query}>
        {({ checkpoints }) => (
          <>
            {checkpoints.length === 0 && <p class="faint">{labels.none}</p>}
            <ul class="lines">
              {checkpoints.toReversed().map((checkpoint) => (
                <Line key={checkpoint.id} checkpoint={checkpoint} onChoose={setChosen} />
              ))}
            </ul>
          </>
        )}
      </QueryView>
      {chosen !== undefined && (
        <ConfirmDialog
          chosen={chosen}
          path={path}
          onClose={() => setChosen(undefined)}
          onDone={query.reload}
        />
      )}
    </Card>
  )
}

interface LineProps {
  readonly checkpoint: WireCheckpoint
  readonly onChoose: (chosen: Chosen) => void
}

function Line({ checkpoint, onChoose }: LineProps) {
  const { id, created_at: createdAt, reason, label, size_bytes: bytes } = checkpoint
  const labels = texts.checkpoints
  const time = formatTime(createdAt)
  return (
    <li data-checkpoint={id}>
      <span class="grow">
        <time dateTime={createdAt} title={id}>
          {time}
        </time>
        <span>{label}</span>
        <span class="faint">
          {labels.reasons[reason]}
          {bytes !== undefined && ` · ${formatBytes(bytes)}`}
        </span>
      </span>
      <Button label={labels.rewind(time)} onClick={() => onChoose({ action: 'rewind', checkpoint })}>
        {labels.confirm.rewind}
      </Button>
      <Button
        icon="delete"
        label={labels.delete(time)}
        onClick={() => onChoose({ action: 'delete', checkpoint })}
      />
    </li>
  )
}

interface ConfirmDialogProps {
  readonly chosen: Chosen
  /** API path of the workspace. */
  readonly path: string
  readonly onClose: () => void
  readonly onDone: () => void
}

function ConfirmDialog({ chosen: { action, checkpoint }, path, onClose, onDone }: ConfirmDialogProps) {
  const { id, created_at: createdAt } = checkpoint
  const labels = texts.checkpoints
  const { isBusy, problem, start } = useAction(async () => {
    if (action === 'rewind') await fetchJson(`${path}/rewind`, { method: 'POST', body: { to: id } })
    else await fetchJson(`${path}/checkpoints/${id}`, { method: 'DELETE' })
    onDone()
    onClose()
  })
  return (
    <Dialog title={labels[action](formatTime(createdAt))} onClose={onClose}>
      <p>{labels.warning[action]}</p>
      {problem !== undefined && <Problem>{problem}</Problem>}
      <div class="dialog-actions">
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="danger" isDisabled={isBusy} onClick={start}>
          {isBusy ? labels.busy[action] : labels.confirm[action]}
        </Button>
      </div>
    </Dialog>
  )
}
