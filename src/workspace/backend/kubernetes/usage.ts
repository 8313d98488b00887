import type { BackendUsage, UsagePart } from '../backend.ts'
import { LABEL } from './names.ts'
import type { PodObjects } from './pod-objects.ts'

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
}

/** Returns the volumes of a server's workspaces, and of deleted ones whose files were kept. */
export async function readClusterUsage(objects: PodObjects): Promise<BackendUsage> {
  const [maps, claims] = await Promise.all([objects.maps(), objects.claims()])
  const workspaces = new Map<string, readonly UsagePart[]>(
    maps.map((map) => [map.metadata.labels?.[LABEL.name] ?? map.metadata.name, []]),
  )
  for (const { metadata, status } of claims) {
    const bytes = quantityOf(status?.capacity?.storage)
    const size = { files: 0, logicalBytes: bytes, physicalBytes: bytes }
    workspaces.set(metadata.labels?.[LABEL.name] ?? metadata.name, [
      { kind: 'volume', path: metadata.name, size },
    ])
  }
  const notes = ['kubernetes: volumes are counted with their full size; images on nodes are not counted']
  return { images: [], workspaces, snapshots: [], notes: claims.length === 0 ? [] : notes }
}

/** Returns the bytes of a quantity such as `5Gi`; 0 for none. Source: Kubernetes API, Quantity. */
export function quantityOf(text: string | undefined): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?(?:e\d+)?)([A-Za-z]*)$/.exec(text ?? '') ?? []
  return Math.round(Number(number || 0) * (UNITS[unit] ?? 0))
}
