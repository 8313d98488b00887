import { wildcard } from '../wildcard.ts'

/** A part of a class name between dots. */
interface Segment {
  readonly matches: (text: string) => boolean
  /** Whether it is written in parentheses, and names a slice. */
  readonly isCaptured: boolean
}

/**
 * A pattern for full class names, with the package syntax of ArchUnit: `*` matches any text in a segment, `..`
 * any number of packages. A pattern that ends with `..` matches all classes of its packages. `(*)` captures a
 * segment, which names the slice of a class.
 *
 * Compares each group of segments between `..` at the first position that fits, so the time is at most the
 * length of the name times that of the pattern (threat A6).
 */
export class ClassPattern {
  readonly #groups: readonly (readonly Segment[])[]
  readonly #isOfPackages: boolean

  constructor(pattern: string) {
    this.#isOfPackages = pattern.endsWith('..')
    const groups = pattern.split('..').map(segmentsOf)
    this.#groups = this.#isOfPackages ? groups.slice(0, -1) : groups
  }

  /** Whether a class name in source notation matches. */
  matches(fqn: string): boolean {
    return this.#find(fqn) !== undefined
  }

  /** Returns the captured segments of a name, joined by dots; undefined if the name does not match. */
  sliceOf(fqn: string): string | undefined {
    const found = this.#find(fqn)
    if (found === undefined) return undefined
    const { names, starts } = found
    return this.#groups
      .flatMap((group, at) =>
        group.flatMap(({ isCaptured }, place) =>
          isCaptured ? [names[(starts[at] ?? 0) + place] ?? ''] : [],
        ),
      )
      .join('.')
  }

  /** Returns where each group matches. */
  #find(fqn: string): { readonly names: readonly string[]; readonly starts: readonly number[] } | undefined {
    const all = fqn.split('.')
    const names = this.#isOfPackages ? all.slice(0, -1) : all
    const last = this.#groups.length - 1
    const starts: number[] = []
    let at = 0
    for (const [index, group] of this.#groups.entries()) {
      const isAtEnd = index === last && !this.#isOfPackages
      const latest = names.length - group.length
      // The first group is at the start; the last one of a full name at its end.
      let start = isAtEnd ? latest : at
      if (start < at || (isAtEnd && index === 0 && start !== 0)) return undefined
      const isFixed = index === 0 || isAtEnd
      while (start <= latest && !isAt(group, names, start)) {
        if (isFixed) return undefined
        start++
      }
      if (start > latest) return undefined
      starts.push(start)
      at = start + group.length
    }
    return { names, starts }
  }
}

/** Returns why a text is not a valid pattern; undefined if it is valid. */
export function patternProblem(pattern: string): string | undefined {
  if (/[^\p{L}\p{N}_$.*()-]/u.test(pattern))
    return 'may contain only letters, digits, "_", "$", "-", ".", "*" and "(*)"'
  if (pattern.includes('...'))
    return 'has more than two dots in a row; ".." stands for any number of packages'
  if (/^\.(?!\.)|(?<!\.)\.$/.test(pattern)) return 'must not begin or end with a single dot'
  if (/[()]/.test(pattern.replaceAll(/(?<=^|\.)\(\*\)(?=\.|$)/g, '')))
    return 'may have parentheses only as a whole segment: "(*)"'
  return undefined
}

function segmentsOf(text: string): readonly Segment[] {
  if (text === '') return []
  return text.split('.').map((segment) => {
    const isCaptured = segment.startsWith('(')
    return { matches: wildcard(isCaptured ? segment.slice(1, -1) : segment), isCaptured }
  })
}

function isAt(group: readonly Segment[], names: readonly string[], start: number): boolean {
  return group.every(({ matches }, place) => matches(names[start + place] ?? ''))
}
