import { useEffect, useRef, useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Answer } from '../parts/answer.tsx'
import { Button } from '../parts/button.tsx'
import { useAsked } from '../parts/use-asked.ts'
import { WorkLog } from '../parts/work-log.tsx'
import { LIST, workspaceHref } from '../routes.ts'
import { followWork } from '../server/event-stream.ts'
import { messageOf, ServerError } from '../server/request.ts'
import { texts } from '../texts.ts'
import { CreateField } from './create-field.tsx'
import { type ApiDescription, bodyOf, fieldOf, type FormField, formFields } from './form-fields.ts'

/** What most workspaces are made with; the rest is folded away. */
const FIRST_FIELDS = new Set(['name', 'repo', 'image', 'backend'])

interface Problem {
  readonly field: string | undefined
  readonly message: string
}

/** Makes a workspace: a form of all that the server takes, then how the work goes. */
export function CreatePage() {
  const description = useAsked<ApiDescription>('/openapi.json')
  return (
    <>
      <div class="page-head">
        <h1>{texts.titles.create}</h1>
      </div>
      <Answer asked={description}>{(value) => <CreateForm fields={formFields(value)} />}</Answer>
    </>
  )
}

function CreateForm({ fields }: { readonly fields: readonly FormField[] }) {
  const [entered, setEntered] = useState<Readonly<Record<string, string>>>({})
  const [lines, setLines] = useState<readonly string[]>()
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    const input = problem?.field === undefined ? null : form.current?.elements.namedItem(problem.field)
    if (input instanceof HTMLElement) input.focus()
  }, [problem])
  const create = async (): Promise<void> => {
    const startedMs = Date.now()
    const tell = (line: string): void => {
      const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1)
      setLines((before = []) => [...before, `${seconds} s  ${line}`])
    }
    setBusy(true)
    setProblem(undefined)
    setLines([])
    try {
      const body = bodyOf(fields, entered)
      const made = await followWork<WireWorkspace>('/api/workspaces', { method: 'POST', body }, tell)
      location.hash = workspaceHref(made.name)
    } catch (error) {
      const message = messageOf(error)
      const field = error instanceof ServerError ? fieldOf(error.code, message, fields) : undefined
      setProblem({ field, message })
      setBusy(false)
    }
  }
  const group = (shown: readonly FormField[]) =>
    shown.map((field) => (
      <CreateField
        key={field.name}
        field={field}
        value={entered[field.name] ?? ''}
        problem={problem?.field === field.name ? problem.message : undefined}
        onValue={(value) => setEntered({ ...entered, [field.name]: value })}
      />
    ))
  const more = fields.filter(({ name }) => !FIRST_FIELDS.has(name))
  const isMoreMeant = more.some(({ name }) => name in entered || name === problem?.field)
  return (
    <form
      ref={form}
      class="card create"
      onSubmit={(event) => {
        event.preventDefault()
        void create()
      }}
    >
      {/* Disabled as a whole while it works: what is shown is what was sent. */}
      <fieldset disabled={isBusy}>
        {group(fields.filter(({ name }) => FIRST_FIELDS.has(name)))}
        <details open={isMoreMeant}>
          <summary>{texts.create.more}</summary>
          {group(more)}
        </details>
      </fieldset>
      {lines !== undefined && lines.length > 0 && <WorkLog lines={lines} />}
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem.field === undefined ? problem.message : texts.create.problemAt(labelOf(problem.field))}
        </p>
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
