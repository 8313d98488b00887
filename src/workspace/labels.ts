import { Type } from '../lib/schema/type.ts'
import { fault } from './errors.ts'

/** Labels of a workspace, for users to select workspaces by. */
export type WorkspaceLabels = Readonly<Record<string, string>>

/** A condition on labels; without a value, only the key must exist. */
export interface LabelFilter {
  readonly key: string
  readonly value: string | undefined
}

const MAX_LABELS = 64
const MAX_VALUE_LENGTH = 255
const KEY = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/
const KEY_RULE =
  'a key has 1 to 63 letters, digits or any of . _ / -, and starts and ends with a letter or digit'
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Labels in requests and responses. */
export const labelsSchema = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string', maxLength: MAX_VALUE_LENGTH },
  maxProperties: MAX_LABELS,
  description: `labels by key; ${KEY_RULE}`,
})

/** Query that selects workspaces by label. */
export const labelQuerySchema = Type.Object(
  {
    label: Type.Optional(
      Type.Array(Type.String(), {
        description: 'KEY=VALUE, or KEY for any value; repeatable, and all conditions must be met',
      }),
    ),
  },
  { additionalProperties: false },
)

/**
 * Validates the labels of a create request; undefined for none.
 *
 * @throws INVALID_REQUEST for too many labels, and for invalid keys and values
 */
export function parseLabels(labels: WorkspaceLabels | null | undefined): WorkspaceLabels | undefined {
  const entries = Object.entries(labels ?? {})
  if (entries.length > MAX_LABELS)
    throw fault('INVALID_REQUEST', `a workspace has at most ${MAX_LABELS} labels, not ${entries.length}`)
  for (const [key, value] of entries) {
    checkKey(key)
    if (value.length > MAX_VALUE_LENGTH || CONTROL.test(value))
      throw fault(
        'INVALID_REQUEST',
        `the value of label "${key}" must have at most ${MAX_VALUE_LENGTH} characters without control characters`,
      )
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Parses conditions such as `team=web` and `team`. @throws INVALID_REQUEST for an invalid key, and for too many */
export function parseLabelFilters(texts: readonly string[] = []): readonly LabelFilter[] {
  if (texts.length > MAX_LABELS)
    throw fault('INVALID_REQUEST', `at most ${MAX_LABELS} labels can be selected, not ${texts.length}`)
  return texts.map((text) => {
    const at = text.indexOf('=')
    const key = at === -1 ? text : text.slice(0, at)
    checkKey(key)
    return { key, value: at === -1 ? undefined : text.slice(at + 1) }
  })
}

/** Returns whether labels meet all conditions. */
export function matchesLabels(labels: WorkspaceLabels = {}, filters: readonly LabelFilter[]): boolean {
  return filters.every(
    ({ key, value }) => Object.hasOwn(labels, key) && (value === undefined || labels[key] === value),
  )
}

function checkKey(key: string): void {
  if (!KEY.test(key))
    throw fault('INVALID_REQUEST', `label key ${JSON.stringify(key.slice(0, 80))} is invalid: ${KEY_RULE}`)
}
