import type { WireWorkspace } from '../../../../api/workspace.ts'
import { formatLabels } from '../../../../format-labels.ts'
import type { UsageSample } from '../state/usage-sample.ts'

/** Columns of the list. */
export const COLUMNS = ['name', 'status', 'backend', 'repo', 'age', 'cpu', 'memory', 'disk'] as const
/** A column of the list. */
export type Column = (typeof COLUMNS)[number]

/** The list's filter and order. */
export interface ListView {
  readonly text: string
  readonly status: WireWorkspace['status'] | 'all'
  readonly column: Column
  readonly isDescending: boolean
}

/** The initial view. */
export const FIRST_VIEW: ListView = { text: '', status: 'all', column: 'name', isDescending: false }

/** Columns that are first sorted in descending order. */
const LARGEST_FIRST: ReadonlySet<Column> = new Set(['cpu', 'memory', 'disk'])

/** Returns the view sorted by a column, reversed if it already is. */
export function sortBy(view: ListView, column: Column): ListView {
  const isDescending = view.column === column ? !view.isDescending : LARGEST_FIRST.has(column)
  return { ...view, column, isDescending }
}

/** Measurements of workspaces, by name. */
export interface Figures {
  readonly usage: ReadonlyMap<string, readonly UsageSample[]>
  readonly diskBytes: ReadonlyMap<string, number>
}

/** Returns the workspaces that match the view, in its order. */
export function selectRows(
  all: Iterable<WireWorkspace>,
  view: ListView,
  figures: Figures,
): readonly WireWorkspace[] {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = [...all].filter((each) => {
    if (view.status !== 'all' && each.status !== view.status) return false
    const { name, repo, backend, image = '' } = each
    const text = [name, repo, backend, image, ...formatLabels(each.labels)].join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const direction = view.isDescending ? -1 : 1
  const keyed = rows.map((row) => ({ row, key: KEYS[view.column](row, figures) }))
  keyed.sort((a, b) => direction * compare(a.key, b.key) || NAMES.compare(a.row.name, b.row.name))
  return keyed.map(({ row }) => row)
}

const NAMES = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : NAMES.compare(String(a), String(b))
}

type Key = (row: WireWorkspace, figures: Figures) => string | number

/** Sort keys of the columns; unknown values sort lowest. */
const KEYS: Readonly<Record<Column, Key>> = {
  name: ({ name }) => name,
  status: ({ status }) => status,
  backend: ({ backend }) => backend,
  repo: ({ repo }) => repo,
  age: ({ created_at: createdAt }) => -Date.parse(createdAt),
  cpu: ({ name }, { usage }) => usage.get(name)?.at(-1)?.cpuPercent ?? -1,
  memory: ({ name }, { usage }) => usage.get(name)?.at(-1)?.memoryBytes ?? -1,
  disk: ({ name }, { diskBytes }) => diskBytes.get(name) ?? -1,
}
