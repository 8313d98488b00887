import { Button } from '../parts/button.tsx'
import { texts } from '../texts.ts'

const SCOPES = ['images', 'instances', 'orphans', 'logs'] as const
type Scope = (typeof SCOPES)[number]

/** The form's values, as entered. */
export interface PruneOptions {
  readonly scopes: readonly Scope[]
  readonly until: string
  readonly keepFree: string
  readonly logTailMib: string
}

/** Initial values of the form. */
export const DEFAULT_OPTIONS: PruneOptions = {
  scopes: ['images', 'instances', 'orphans'],
  until: '72h',
  keepFree: '',
  logTailMib: '5',
}

/** Returns the query that requests a plan. */
export function queryOf({ scopes, until, keepFree, logTailMib }: PruneOptions): string {
  const query = new URLSearchParams({ dry_run: 'true', until })
  for (const scope of scopes) query.append('scope', scope)
  if (keepFree.trim() !== '') query.set('keep_free', keepFree.trim())
  if (scopes.includes('logs')) query.set('log_tail_bytes', String(Math.round(Number(logTailMib) * 2 ** 20)))
  return query.toString()
}

interface PruneFormProps {
  readonly options: PruneOptions
  readonly onOptions: (options: PruneOptions) => void
  readonly isBusy: boolean
  readonly onPlan: () => void
}

/** The form that requests a prune plan. */
export function PruneForm({ options, onOptions, isBusy, onPlan }: PruneFormProps) {
  const labels = texts.prune
  const toggle = (scope: Scope, isOn: boolean): void =>
    onOptions({
      ...options,
      scopes: SCOPES.filter((each) => (each === scope ? isOn : options.scopes.includes(each))),
    })
  return (
    <form
      class="prune"
      onSubmit={(event) => {
        event.preventDefault()
        onPlan()
      }}
    >
      <fieldset disabled={isBusy}>
        <legend>{labels.scopes}</legend>
        {SCOPES.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name={scope}
              checked={options.scopes.includes(scope)}
              onChange={(event) => toggle(scope, event.currentTarget.checked)}
            />
            {labels.scopeLabels[scope]}
          </label>
        ))}
      </fieldset>
      <div class="inline-form">
        <label>
          {labels.until}
          <input
            name="until"
            size={8}
            required
            value={options.until}
            onInput={(event) => onOptions({ ...options, until: event.currentTarget.value })}
          />
        </label>
        <label>
          {labels.keepFree}
          <input
            name="keep_free"
            size={8}
            placeholder={labels.keepFreeHint}
            value={options.keepFree}
            onInput={(event) => onOptions({ ...options, keepFree: event.currentTarget.value })}
          />
        </label>
        {options.scopes.includes('logs') && (
          <label>
            {labels.logTail}
            <input
              name="log_tail"
              type="number"
              min={0}
              step="any"
              required
              value={options.logTailMib}
              onInput={(event) => onOptions({ ...options, logTailMib: event.currentTarget.value })}
            />
          </label>
        )}
        <Button type="submit" isDisabled={isBusy || options.scopes.length === 0}>
          {isBusy ? labels.planning : labels.plan}
        </Button>
      </div>
      <p class="faint">{labels.planDescription}</p>
    </form>
  )
}
