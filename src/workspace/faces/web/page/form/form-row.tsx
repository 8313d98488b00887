import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import type { WireImage } from '../../../../api/image.ts'
import type { WireSnapshot } from '../../../../api/snapshot.ts'
import type { WireTemplate } from '../../../../api/template.ts'
import { useQuery } from '../parts/use-query.ts'
import { serverInfo } from '../state/server-info.ts'
import { useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import type { FormField } from './form-fields.ts'

interface FormRowProps {
  readonly field: FormField
  /** The templates to choose from, if the field is one. */
  readonly templates?: readonly WireTemplate[]
  /** The value that applies to an empty field, if known. */
  readonly fallback?: string | undefined
  readonly value: string
  readonly problem?: string | undefined
  readonly onValue: (value: string) => void
}

/** A form field with its label, description and validation error. */
export function FormRow({ field, templates = [], fallback, value, problem, onValue }: FormRowProps) {
  const id = useId()
  const { name, is, isRequired, description, minimum, maximum, choices } = field
  const label = texts.fields[name] ?? name
  const Suggestions = SUGGESTIONS[name]
  const isCheckbox = is === 'flag' && choices === undefined
  const common = {
    id,
    name,
    'aria-describedby': `${id}-help ${id}-problem`,
    'aria-invalid': problem !== undefined,
  }
  return (
    <div class={isCheckbox ? 'field flag' : 'field'}>
      <label for={id}>
        {label}
        {isRequired && <span class="faint"> {texts.form.required}</span>}
      </label>
      {isCheckbox ? (
        <input
          {...common}
          type="checkbox"
          checked={value === 'true'}
          onChange={(event) => onValue(event.currentTarget.checked ? 'true' : '')}
        />
      ) : name === 'backend' ? (
        <BackendSelect {...common} fallback={fallback} value={value} onValue={onValue} />
      ) : name === 'template' ? (
        <TemplateSelect {...common} templates={templates} value={value} onValue={onValue} />
      ) : choices !== undefined ? (
        <Choice {...common} choices={choices} fallback={fallback} value={value} onValue={onValue} />
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
          placeholder={fallback ?? (is === 'pairs' ? texts.form.pairsHint : undefined)}
          list={Suggestions === undefined ? undefined : `${id}-suggestions`}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
      {Suggestions !== undefined && <Suggestions id={`${id}-suggestions`} />}
      <p id={`${id}-help`} class="faint">
        {templates.find(({ name: each }) => each === value)?.description || description}
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

function nameOfChoice(choice: string): string {
  return texts.form.choices[choice] ?? choice
}

function Choice({
  choices,
  fallback,
  value,
  onValue,
  ...common
}: SelectProps & { readonly choices: readonly string[]; readonly fallback: string | undefined }) {
  return (
    <select {...common} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      <option value="">{texts.form.byDefault(fallback === undefined ? '' : nameOfChoice(fallback))}</option>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {nameOfChoice(choice)}
        </option>
      ))}
    </select>
  )
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
      <option value="">{texts.form.byDefault(fallback ?? info?.default_backend ?? '')}</option>
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
      <option value="">{texts.form.noTemplate}</option>
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
            {texts.form.suggestion(backend, name)}
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
          {texts.form.suggestion(backend, source)}
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
