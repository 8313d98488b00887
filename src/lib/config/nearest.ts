/** Returns the candidate closest to a misspelled word, or undefined if none is close enough. */
export function nearest(written: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = maxDistance(written) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - written.length) >= bestDistance) continue
    const distance = editDistance(written, candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Returns all candidates that are close enough, the closest first. */
export function allNear(written: string, candidates: Iterable<string>): readonly string[] {
  const limit = maxDistance(written)
  const near: { readonly candidate: string; readonly distance: number }[] = []
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - written.length) > limit) continue
    const distance = editDistance(written, candidate)
    if (distance <= limit) near.push({ candidate, distance })
  }
  return near.toSorted((a, b) => a.distance - b.distance).map(({ candidate }) => candidate)
}

function maxDistance(written: string): number {
  return Math.max(2, Math.floor(written.length / 3))
}

/** Levenshtein distance that counts a swap of adjacent letters, a common typo, as one edit. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min((row[j - 1] ?? 0) + 1, (previous[j] ?? 0) + 1, (previous[j - 1] ?? 0) + same)
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1)
      row.push(cost)
    }
    beforePrevious = previous
    previous = row
  }
  return previous[b.length] ?? 0
}
