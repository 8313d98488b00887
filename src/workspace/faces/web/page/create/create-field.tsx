import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import type { WireImage } from '../../../../api/image.ts'
import type { WireSnapshot } from '../../../../api/snapshot.ts'
import { useAsked } from '../parts/use-asked.ts'
import { serverInfo } from '../state/server-info.ts'
import { useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import type { FormField } from './form-fields.ts'

interface CreateFieldProps {
  readonly field: FormField
  readonly value: string
  readonly problem: string | undefined
  readonly onValue: (value: string) => void
}

/** A field with its label, what it means, and what is wrong with what was entered. */
export function CreateField({ field, value, problem, onValue }: CreateFieldProps) {
  const id = useId()
  const { name, is, isRequired, description, minimum, maximum } = field
  const label = texts.fields[name] ?? name
  const Offers = OFFERS[name]
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
        <BackendSelect {...common} value={value} onValue={onValue} />
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
          list={Offers === undefined ? undefined : `${id}-offers`}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
      {Offers !== undefined && <Offers id={`${id}-offers`} />}
      <p id={`${id}-help`} class="faint">
        {description}
      </p>
      <p id={`${id}-problem`} class="problem" hidden={problem === undefined}>
        {problem}
      </p>
    </div>
  )
}

interface BackendSelectProps {
  readonly id: string
  readonly name: string
  readonly value: string
  readonly onValue: (value: string) => void
}

function BackendSelect({ value, onValue, ...common }: BackendSelectProps) {
  const info = useStore(serverInfo)
  return (
    <select {...common} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      <option value="">{texts.create.defaultBackend(info?.default_backend ?? '')}</option>
      {info?.enabled_backends.map((backend) => (
        <option key={backend} value={backend}>
          {backend}
        </option>
      ))}
    </select>
  )
}

function ImageOffers({ id }: { readonly id: string }) {
  const images = useAsked<{ images: readonly WireImage[] }>('/api/images').value?.images ?? []
  return (
    <datalist id={id}>
      {images
        .filter(({ source }) => source !== 'dangling')
        .map(({ name, backend, alias }) => (
          <option key={`${backend} ${name}`} value={alias ?? name}>
            {texts.create.offer(backend, name)}
          </option>
        ))}
    </datalist>
  )
}

function SnapshotOffers({ id }: { readonly id: string }) {
  const asked = useAsked<{ snapshots: readonly WireSnapshot[] }>('/api/snapshots')
  return (
    <datalist id={id}>
      {asked.value?.snapshots.map(({ name, backend, source_workspace: source }) => (
        <option key={name} value={name}>
          {texts.create.offer(backend, source)}
        </option>
      ))}
    </datalist>
  )
}

/** What is offered for a field beside what may be typed. */
const OFFERS: Readonly<Record<string, (props: { readonly id: string }) => VNode>> = {
  image: ImageOffers,
  from_snapshot: SnapshotOffers,
}
