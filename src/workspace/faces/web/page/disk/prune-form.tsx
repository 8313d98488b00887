import { Button } from '../parts/button.tsx'
import { texts } from '../texts.ts'

const SCOPES = ['images', 'instances', 'orphans', 'logs'] as const
type Scope = (typeof SCOPES)[number]

/** What is to be planned, as it was entered. */
export interface PruneWish {
  readonly scopes: readonly Scope[]
  readonly until: string
  readonly keepFree: string
  readonly logTailMib: string
}

export const FIRST_WISH: PruneWish = {
  scopes: ['images', 'instances', 'orphans'],
  until: '72h',
  keepFree: '',
  logTailMib: '5',
}

export function queryOf({ scopes, until, keepFree, logTailMib }: PruneWish): string {
  const query = new URLSearchParams({ dry_run: 'true', until })
  for (const scope of scopes) query.append('scope', scope)
  if (keepFree.trim() !== '') query.set('keep_free', keepFree.trim())
  if (scopes.includes('logs')) query.set('log_tail_bytes', String(Math.round(Number(logTailMib) * 2 ** 20)))
  return query.toString()
}

interface PruneFormProps {
  readonly wish: PruneWish
  readonly onWish: (wish: PruneWish) => void
  readonly isBusy: boolean
  readonly onPlan: () => void
}

/** What a plan is to be about. */
export function PruneForm({ wish, onWish, isBusy, onPlan }: PruneFormProps) {
  const words = texts.prune
  const toggle = (scope: Scope, isOn: boolean): void =>
    onWish({ ...wish, scopes: SCOPES.filter((each) => (each === scope ? isOn : wish.scopes.includes(each))) })
  return (
    <form
      class="prune"
      onSubmit={(event) => {
        event.preventDefault()
        onPlan()
      }}
    >
      <fieldset disabled={isBusy}>
        <legend>{words.scopes}</legend>
        {SCOPES.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name={scope}
              checked={wish.scopes.includes(scope)}
              onChange={(event) => toggle(scope, event.currentTarget.checked)}
            />
            {words.scopeWords[scope]}
          </label>
        ))}
      </fieldset>
      <div class="inline-form">
        <label>
          {words.until}
          <input
            name="until"
            size={8}
            required
            value={wish.until}
            onInput={(event) => onWish({ ...wish, until: event.currentTarget.value })}
          />
        </label>
        <label>
          {words.keepFree}
          <input
            name="keep_free"
            size={8}
            placeholder={words.keepFreeHint}
            value={wish.keepFree}
            onInput={(event) => onWish({ ...wish, keepFree: event.currentTarget.value })}
          />
        </label>
        {wish.scopes.includes('logs') && (
          <label>
            {words.logTail}
            <input
              name="log_tail"
              type="number"
              min={0}
              step="any"
              required
              value={wish.logTailMib}
              onInput={(event) => onWish({ ...wish, logTailMib: event.currentTarget.value })}
            />
          </label>
        )}
        <Button type="submit" isDisabled={isBusy || wish.scopes.length === 0}>
          {isBusy ? words.planning : words.plan}
        </Button>
      </div>
      <p class="faint">{words.planMeans}</p>
    </form>
  )
}
