import type { WireDiskReport } from '../../../../api/disk.ts'

export type PartKind = 'image' | 'workspace' | 'snapshot' | 'orphan'

/** Something that takes room. */
export interface DiskPart {
  readonly kind: PartKind
  readonly name: string
  readonly logicalBytes: number
  readonly physicalBytes: number
}

/** All parts of a report. */
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
