import { useId, useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { MAX_FORKS } from '../../../../max-forks.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { useAction } from '../parts/use-action.ts'
import { fetchJson } from '../server/request.ts'
import { texts } from '../texts.ts'

interface ForkDialogProps {
  readonly workspace: WireWorkspace
  readonly onClose: () => void
}

/** Asks how many forks of a workspace to create, and how to name them. */
export function ForkDialog({ workspace: { name, status }, onClose }: ForkDialogProps) {
  const id = useId()
  const [count, setCount] = useState(1)
  const [prefix, setPrefix] = useState(`${name}-fork`)
  const labels = texts.forks
  const { isBusy, problem, start } = useAction(async () => {
    const body = { count, prefix }
    await fetchJson(`/api/workspaces/${encodeURIComponent(name)}/fork`, { method: 'POST', body })
    onClose()
  })
  return (
    <Dialog title={labels.ask(name)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <p>{status === 'running' ? labels.pauses : labels.copies}</p>
        <div class="field">
          <label for={`${id}-count`}>{labels.count}</label>
          <input
            id={`${id}-count`}
            name="count"
            type="number"
            required
            min={1}
            max={MAX_FORKS}
            value={count}
            onInput={(event) => setCount(event.currentTarget.valueAsNumber)}
          />
        </div>
        <div class="field">
          <label for={`${id}-prefix`}>{labels.prefix}</label>
          <input
            id={`${id}-prefix`}
            name="prefix"
            required
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={prefix}
            onInput={(event) => setPrefix(event.currentTarget.value)}
          />
        </div>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <div class="dialog-actions">
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button kind="main" type="submit" icon="fork" isDisabled={isBusy}>
            {isBusy ? labels.busy : labels.confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
