import type { Bytes } from '../../bytes.ts'
import type { Candidate, Skipped } from './candidate.ts'
import { freeSpaceAt } from './free-space.ts'
import type { KeepFree } from './request.ts'

/** Why something may stay that could go. */
export function enough(keepFree: KeepFree): string {
  return `enough is free without it (${keepFree.is === 'share' ? `${keepFree.percent}%` : `${keepFree.bytes} bytes`})`
}

/** On each file system the oldest, as many as are needed for so much to be free. */
export async function selectOldest<T extends Candidate & { readonly freed: Bytes }>(
  candidates: readonly T[],
  keepFree: KeepFree,
): Promise<{ readonly chosen: readonly T[]; readonly skipped: readonly Skipped[] }> {
  const missing = new Map<number, number>()
  const chosen: T[] = []
  const skipped: Skipped[] = []
  for (const candidate of candidates.toSorted((a, b) => a.changedAt.getTime() - b.changedAt.getTime())) {
    const { kind, name, path, freed } = candidate
    const space = await freeSpaceAt(path, keepFree)
    if (space === undefined) {
      skipped.push({ kind, name, path, reason: 'on which disk it is cannot be told' })
      continue
    }
    const left = missing.get(space.device) ?? space.missingBytes
    if (left > 0) chosen.push(candidate)
    else skipped.push({ kind, name, path, reason: enough(keepFree) })
    missing.set(space.device, left - (left > 0 ? freed.physicalBytes : 0))
  }
  return { chosen, skipped }
}
