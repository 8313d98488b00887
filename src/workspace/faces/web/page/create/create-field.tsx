import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import type { WireImage } from '../../../../api/image.ts'
import type { WireSnapshot } from '../../../../api/snapshot.ts'
import type { WireTemplate } from '../../../../api/template.ts'
import { useQuery } from '../parts/use-query.ts'
import { serverInfo } from '../state/server-info.ts'
import { useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import { type FormField, valueOfTemplate } from './form-fields.ts'

interface CreateFieldProps {
  readonly field: FormField
  readonly templates: readonly WireTemplate[]
  /** The chosen template, whose values apply to empty fields. */
  readonly template: WireTemplate | undefined
  readonly value: string
  readonly problem: string | undefined
  readonly onValue: (value: string) => void
}

/** A form field with its label, description and validation error. */
export function CreateField({ field, templates, template, value, problem, onValue }: CreateFieldProps) {
  const id = useId()
  const { name, is, isRequired, description, minimum, maximum } = field
  const label = texts.fields[name] ?? name
  const Suggestions = SUGGESTIONS[name]
  const fromTemplate = template && valueOfTemplate(template, name)
  const common = {
    id,
    name,
    'aria-describedby': `${id}-help ${id}-problem`,
    'aria-invalid': problem !== undefined,
  }
  return (
    <div class={is === 'flag' ? 'field flag' : 'field'}>
      <label for={id}>
        {label}
        {isRequired && <span class="faint"> {texts.create.required}</span>}
      </label>
      {is === 'flag' ? (
        <input
          {...common}
          type="checkbox"
          checked={value === 'true'}
          onChange={(event) => onValue(event.currentTarget.checked ? 'true' : '')}
        />
      ) : name === 'backend' ? (
        <BackendSelect {...common} fallback={fromTemplate} value={value} onValue={onValue} />
      ) : name === 'template' ? (
        <TemplateSelect {...common} templates={templates} value={value} onValue={onValue} />
      ) : (
        <input
          {...common}
          type={is === 'number' ? 'number' : 'text'}
          required={isRequired}
          min={minimum}
          max={maximum}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder={fromTemplate ?? (is === 'pairs' ? texts.create.pairsHint : undefined)}
          list={Suggestions === undefined ? undefined : `${id}-suggestions`}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
      {Suggestions !== undefined && <Suggestions id={`${id}-suggestions`} />}
      <p id={`${id}-help`} class="faint">
        {(name === 'template' && template?.description) || description}
      </p>
      <p id={`${id}-problem`} class="problem" hidden={problem === undefined}>
        {problem}
      </p>
    </div>
  )
}

interface SelectProps {
  readonly id: string
  readonly name: string
  readonly value: string
  readonly onValue: (value: string) => void
}

function BackendSelect({
  value,
  onValue,
  fallback,
  ...common
}: SelectProps & { readonly fallback: string | undefined }) {
  const info = useStore(serverInfo)
  return (
    <select {...common} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      <option value="">{texts.create.defaultBackend(fallback ?? info?.default_backend ?? '')}</option>
      {info?.enabled_backends.map((backend) => (
        <option key={backend} value={backend}>
          {backend}
        </option>
      ))}
    </select>
  )
}

function TemplateSelect({
  value,
  onValue,
  templates,
  ...common
}: SelectProps & { readonly templates: readonly WireTemplate[] }) {
  return (
    <select {...common} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      <option value="">{texts.create.noTemplate}</option>
      {templates.map(({ name }) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

function ImageSuggestions({ id }: { readonly id: string }) {
  const images = useQuery<{ images: readonly WireImage[] }>('/api/images').value?.images ?? []
  return (
    <datalist id={id}>
      {images
        .filter(({ source }) => source !== 'dangling')
        .map(({ name, backend, alias }) => (
          <option key={`${backend} ${name}`} value={alias ?? name}>
            {texts.create.suggestion(backend, name)}
          </option>
        ))}
    </datalist>
  )
}

function SnapshotSuggestions({ id }: { readonly id: string }) {
  const query = useQuery<{ snapshots: readonly WireSnapshot[] }>('/api/snapshots')
  return (
    <datalist id={id}>
      {query.value?.snapshots.map(({ name, backend, source_workspace: source }) => (
        <option key={name} value={name}>
          {texts.create.suggestion(backend, source)}
        </option>
      ))}
    </datalist>
  )
}

/** Suggestions for fields that also accept free text. */
const SUGGESTIONS: Readonly<Record<string, (props: { readonly id: string }) => VNode>> = {
  image: ImageSuggestions,
  from_snapshot: SnapshotSuggestions,
}
