import { useEffect, useRef, useState } from 'preact/hooks'
import type { WireTemplate } from '../../../../api/template.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import {
  type ApiDescription,
  bodyOf,
  creationFields,
  fieldOf,
  type FormField,
  shownValue,
} from '../form/form-fields.ts'
import { FormRow } from '../form/form-row.tsx'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { QueryView } from '../parts/query-view.tsx'
import { useQuery } from '../parts/use-query.ts'
import { WorkLog } from '../parts/work-log.tsx'
import { LIST, workspaceHref } from '../routes.ts'
import { followWork } from '../server/event-stream.ts'
import { messageOf, ServerError } from '../server/request.ts'
import { texts } from '../texts.ts'

/** Fields that are always visible; the others are collapsed. */
const FIRST_FIELDS = new Set(['name', 'template', 'repo', 'image', 'backend'])

interface CreateProblem {
  readonly field: string | undefined
  readonly message: string
}

/** The page that creates a workspace: a form with every field the server accepts, then the progress. */
export function CreatePage() {
  const description = useQuery<ApiDescription>('/openapi.json')
  const templates = useQuery<{ templates: readonly WireTemplate[] }>('/api/templates')
  return (
    <>
      <div class="page-head">
        <h1>{texts.titles.create}</h1>
      </div>
      <QueryView query={templates}>
        {({ templates: known }) => (
          <QueryView query={description}>
            {(value) => <CreateForm fields={creationFields(value)} templates={known} />}
          </QueryView>
        )}
      </QueryView>
    </>
  )
}

interface CreateFormProps {
  readonly fields: readonly FormField[]
  readonly templates: readonly WireTemplate[]
}

function CreateForm({ fields, templates }: CreateFormProps) {
  const [entered, setEntered] = useState<Readonly<Record<string, string>>>({})
  const [lines, setLines] = useState<readonly string[]>()
  const [problem, setProblem] = useState<CreateProblem>()
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    const input = problem?.field === undefined ? null : form.current?.elements.namedItem(problem.field)
    if (input instanceof HTMLElement) input.focus()
  }, [problem])
  const create = async (): Promise<void> => {
    const startedMs = Date.now()
    const onProgress = (line: string): void => {
      const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1)
      setLines((before = []) => [...before, `${seconds} s  ${line}`])
    }
    setBusy(true)
    setProblem(undefined)
    setLines([])
    try {
      const body = bodyOf(fields, entered)
      const created = await followWork<WireWorkspace>('/api/workspaces', { method: 'POST', body }, onProgress)
      location.hash = workspaceHref(created.name)
    } catch (error) {
      const message = messageOf(error)
      const field = error instanceof ServerError ? fieldOf(error.code, message, fields) : undefined
      setProblem({ field, message })
      setBusy(false)
    }
  }
  const template = templates.find(({ name }) => name === entered['template'])
  const group = (shown: readonly FormField[]) =>
    shown.map((field) => (
      <FormRow
        key={field.name}
        field={field}
        templates={field.name === 'template' ? templates : []}
        fallback={template && field.name !== 'name' ? shownValue(template, field) : undefined}
        value={entered[field.name] ?? ''}
        problem={problem?.field === field.name ? problem.message : undefined}
        onValue={(value) => setEntered({ ...entered, [field.name]: value })}
      />
    ))
  const first = fields.filter(
    ({ name }) => FIRST_FIELDS.has(name) && (name !== 'template' || templates.length > 0),
  )
  const more = fields.filter(({ name }) => !FIRST_FIELDS.has(name))
  const isMoreOpen = more.some(({ name }) => name in entered || name === problem?.field)
  return (
    <form
      ref={form}
      class="card create"
      onSubmit={(event) => {
        event.preventDefault()
        void create()
      }}
    >
      {/* Disabled while creating, so that the form shows what was sent. */}
      <fieldset disabled={isBusy}>
        {group(first)}
        <details open={isMoreOpen}>
          <summary>{texts.create.more}</summary>
          {group(more)}
        </details>
      </fieldset>
      {lines !== undefined && lines.length > 0 && <WorkLog lines={lines} />}
      {problem !== undefined && (
        <Problem>
          {problem.field === undefined ? problem.message : texts.create.problemAt(labelOf(problem.field))}
        </Problem>
      )}
      <div class="form-actions">
        <Button type="submit" kind="main" isDisabled={isBusy}>
          {isBusy ? texts.create.busy : texts.create.send}
        </Button>
        <a class="button" href={LIST}>
          {isBusy ? texts.create.leave : texts.cancel}
        </a>
      </div>
    </form>
  )
}

function labelOf(field: string): string {
  return texts.fields[field] ?? field
}
