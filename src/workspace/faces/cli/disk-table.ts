import { formatBytes } from '../../../lib/cli/bytes.ts'
import { formatTable } from '../../../lib/cli/table.ts'
import type { WireBytes } from '../../api/bytes.ts'
import type { WireDiskReport } from '../../api/disk.ts'

const HEADINGS = ['', 'FILES', 'LOGICAL', 'PHYSICAL'] as const

/** Formats the report by category; verbose output also lists each image, workspace, snapshot and orphan, largest first. */
export function diskTable(report: WireDiskReport, isVerbose: boolean): string {
  const { images, workspaces, snapshots = [], orphans, totals, notes } = report
  const rows: (readonly string[])[] = []
  const add = (
    label: string,
    total: WireBytes,
    details: readonly { readonly label: string; readonly size: WireBytes }[],
  ): void => {
    rows.push(row(label, total))
    if (!isVerbose) return
    const sorted = details.toSorted((a, b) => b.size.physical_bytes - a.size.physical_bytes)
    for (const each of sorted) rows.push(row(`  ${each.label}`, each.size))
  }
  add(
    `images (${images.length})`,
    totals.images,
    images.map(({ name, backend, size }) => ({ label: `${shortName(name)} [${backend}]`, size })),
  )
  add(
    `workspaces (${counts(workspaces)})`,
    totals.workspaces,
    workspaces.map(({ name, backend, status, total }) => ({
      label: `${name} [${backend}, ${status}]`,
      size: total,
    })),
  )
  if (totals.snapshots !== undefined && snapshots.length > 0)
    add(
      `snapshots (${snapshots.length})`,
      totals.snapshots,
      snapshots.map(({ name, backend, size }) => ({ label: `${name} [${backend}]`, size })),
    )
  add(
    `orphans (${orphans.length})`,
    totals.orphans,
    orphans.map(({ path, kind, size }) => ({ label: `${path} [${kind}]`, size })),
  )
  rows.push(row('TOTAL', totals.all))
  const shared = totals.shared_bytes
  const lines = [formatTable(HEADINGS, rows)]
  if (shared > 0)
    lines.push(
      `${formatBytes(shared)} of that is shared and counted more than once; actual usage is ${formatBytes(totals.all.physical_bytes - shared)}`,
    )
  return [...lines, ...notes.map((note) => `note: ${note}`)].join('\n')
}

function row(label: string, size: WireBytes): readonly string[] {
  const { files, logical_bytes: logical, physical_bytes: physical } = size
  return [label, files === undefined ? '–' : String(files), formatBytes(logical), formatBytes(physical)]
}

/** Returns the number of workspaces in each state: "1 running, 2 stopped". */
function counts(workspaces: WireDiskReport['workspaces']): string {
  const states = Map.groupBy(workspaces, ({ status }) => status)
  const shown = [
    'running',
    'stopped',
    ...[...states.keys()].filter((s) => s !== 'running' && s !== 'stopped'),
  ]
  return shown.map((status) => `${states.get(status)?.length ?? 0} ${status}`).join(', ')
}

/** Shortens a digest to its first digits; returns other names unchanged. */
export function shortName(name: string): string {
  return name.replace(/^(sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1')
}
