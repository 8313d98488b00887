import type { WireDiskReport } from '../../../../api/disk.ts'

/** Kinds of items in the disk report. */
export type PartKind = 'image' | 'workspace' | 'snapshot' | 'orphan'

/** An item with its disk usage. */
export interface DiskPart {
  readonly kind: PartKind
  readonly name: string
  readonly logicalBytes: number
  readonly physicalBytes: number
}

/** Returns all items of a disk report. */
export function diskParts(report: WireDiskReport): readonly DiskPart[] {
  return [
    ...report.images.map(({ name, size }) => partOf('image', name, size)),
    ...report.workspaces.map(({ name, total }) => partOf('workspace', name, total)),
    ...(report.snapshots ?? []).map(({ name, size }) => partOf('snapshot', name, size)),
    ...report.orphans.map(({ path, size }) => partOf('orphan', path, size)),
  ]
}

function partOf(
  kind: PartKind,
  name: string,
  size: { readonly logical_bytes: number; readonly physical_bytes: number },
): DiskPart {
  return { kind, name, logicalBytes: size.logical_bytes, physicalBytes: size.physical_bytes }
}
