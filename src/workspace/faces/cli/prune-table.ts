import { formatBytes } from '../../../lib/cli/bytes.ts'
import { formatTable } from '../../../lib/cli/table.ts'
import type { WireCompactReport, WirePruneReport } from '../../api/prune.ts'
import { shortName } from './disk-table.ts'

const WORDS = { would_delete: 'can go', deleted: 'deleted', truncated: 'cut', failed: 'FAILED' } as const

/** What goes, or is gone, and what stays, each with its reason. */
export function pruneTable({ items, skipped, notes, totals, dry_run: isDryRun }: WirePruneReport): string {
  const rows = items.map(({ kind, name, backend, action, freed, reason, error }) => [
    WORDS[action],
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
    const stays = skipped.map(({ kind, name, reason }) => [kind, shortName(name), reason])
    lines.push('', formatTable(['STAYS', 'NAME', 'WHY'], stays))
  }
  const done = isDryRun ? 'can go' : totals.items === 1 ? 'is gone' : 'are gone'
  if (items.length > 0) lines.push('', `${totals.items} ${done}: ${formatBytes(totals.freed.physical_bytes)}`)
  return [...lines, ...notes.map((note) => `note: ${note}`)].join('\n')
}

/** What each disk gave back. */
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
