import { formatBytes } from '../../../lib/cli/bytes.ts'
import { formatTable } from '../../../lib/cli/table.ts'
import type { WireCompactReport, WirePruneReport } from '../../api/prune.ts'
import { shortName } from './disk-table.ts'

const ACTIONS = {
  would_delete: 'would delete',
  deleted: 'deleted',
  truncated: 'truncated',
  failed: 'FAILED',
} as const

/** Formats the items that are or would be deleted and those that are kept, each with its reason. */
export function pruneTable({ items, skipped, notes, totals, dry_run: isDryRun }: WirePruneReport): string {
  const rows = items.map(({ kind, name, backend, action, freed, reason, error }) => [
    ACTIONS[action],
    kind,
    shortName(name),
    backend,
    formatBytes(freed.physical_bytes),
    error ?? reason,
  ])
  const lines = [
    items.length === 0
      ? 'nothing to prune'
      : formatTable(['', 'KIND', 'NAME', 'BACKEND', 'PHYSICAL', 'WHY'], rows),
  ]
  if (skipped.length > 0) {
    const kept = skipped.map(({ kind, name, reason }) => [kind, shortName(name), reason])
    lines.push('', formatTable(['KEPT', 'NAME', 'WHY'], kept))
  }
  const count = totals.items === 1 ? '1 item' : `${totals.items} items`
  const freed = formatBytes(totals.freed.physical_bytes)
  if (items.length > 0)
    lines.push(
      '',
      isDryRun ? `would delete ${count} and free ${freed}` : `deleted ${count} and freed ${freed}`,
    )
  return [...lines, ...notes.map((note) => `note: ${note}`)].join('\n')
}

/** Formats the space reclaimed from each disk. */
export function compactTable({ items, skipped, totals }: WireCompactReport): string {
  const rows = [
    ...items.map(({ name, backend, freed, error }) => [
      name,
      backend,
      error === undefined ? formatBytes(freed.physical_bytes) : 'FAILED',
      error ?? '',
    ]),
    ...skipped.map(({ name, reason }) => [name, '', '–', reason]),
    ['TOTAL', '', formatBytes(totals.freed.physical_bytes), ''],
  ]
  return formatTable(['NAME', 'BACKEND', 'FREED', ''], rows)
}
