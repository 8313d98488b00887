import { useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import {
  type ApiDescription,
  type FormField,
  patchOf,
  settingsFields,
  shownValue,
} from '../form/form-fields.ts'
import { FormRow } from '../form/form-row.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { QueryView } from '../parts/query-view.tsx'
import { useAction } from '../parts/use-action.ts'
import { useQuery } from '../parts/use-query.ts'
import { fetchJson } from '../server/request.ts'
import { texts } from '../texts.ts'

interface SettingsDialogProps {
  readonly workspace: WireWorkspace
  readonly onClose: () => void
}

/** Changes settings of a workspace: all that the server accepts. */
export function SettingsDialog({ workspace, onClose }: SettingsDialogProps) {
  const description = useQuery<ApiDescription>('/openapi.json')
  return (
    <Dialog isWide title={texts.settings.title(workspace.name)} onClose={onClose}>
      <QueryView query={description}>
        {(value) => <SettingsForm fields={settingsFields(value)} workspace={workspace} onClose={onClose} />}
      </QueryView>
    </Dialog>
  )
}

function SettingsForm({
  fields,
  workspace,
  onClose,
}: SettingsDialogProps & { readonly fields: readonly FormField[] }) {
  // As they were when the dialog was opened: a change by others meanwhile is not undone.
  const [before] = useState(() => shownValues(workspace, fields))
  const [entered, setEntered] = useState(before)
  const { isBusy, problem, start } = useAction(async () => {
    const body = patchOf(fields, before, entered)
    const path = `/api/workspaces/${encodeURIComponent(workspace.name)}`
    if (Object.keys(body).length > 0) await fetchJson(path, { method: 'PATCH', body })
    onClose()
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        start()
      }}
    >
      {fields.map((each) => (
        <FormRow
          key={each.name}
          field={each}
          value={entered[each.name] ?? ''}
          onValue={(value) => setEntered({ ...entered, [each.name]: value })}
        />
      ))}
      {problem !== undefined && <Problem>{problem}</Problem>}
      <div class="dialog-actions">
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="main" type="submit" isDisabled={isBusy}>
          {isBusy ? texts.settings.busy : texts.settings.save}
        </Button>
      </div>
    </form>
  )
}

function shownValues(
  workspace: WireWorkspace,
  fields: readonly FormField[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(fields.map((field) => [field.name, shownValue(workspace, field) ?? '']))
}
