/**
 * Returns a spelling that is equal for names that a file system may treat as the same: no other spelling of a
 * repository's name must evade its rule.
 */
export function foldName(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase()
}

/** Whether a folded name matches a folded pattern, in which `*` matches any characters. Takes no exponential time. */
export function matchesPattern(pattern: string, name: string): boolean {
  let [at, from] = [0, 0]
  let star: { readonly at: number; readonly from: number } | undefined
  while (from < name.length) {
    if (pattern[at] === '*') star = { at: ++at, from }
    else if (pattern[at] === name[from]) {
      at++
      from++
    } else if (star === undefined) return false
    else {
      // The last star stands for one more character.
      star = { at: star.at, from: star.from + 1 }
      at = star.at
      from = star.from
    }
  }
  return /^\**$/.test(pattern.slice(at))
}
