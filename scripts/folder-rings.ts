// Cycles of folders, direct or indirect: such folders can only be understood, tested and moved together.

/** A module and the modules it imports, as paths. */
export interface Module {
  readonly source: string
  readonly dependencies: readonly { readonly resolved: string }[]
}

/**
 * Returns the folder of a file, below `src/PROGRAM` or its `faces`, which are independent; a file beside such folders
 * counts as one.
 */
function folderOf(path: string): string | undefined {
  return /^src\/[^/]+\/(?:faces\/[^/]+|[^/]+)/.exec(path)?.[0]
}

/**
 * Returns cycles of folders as the imports that form them: one for every two folders of which one depends on the
 * other.
 */
export function folderRings(modules: readonly Module[]): readonly (readonly string[])[] {
  const steps = new Map<string, Map<string, string>>()
  for (const { source, dependencies } of modules) {
    const from = folderOf(source)
    for (const { resolved } of dependencies) {
      const to = folderOf(resolved)
      if (from === undefined || to === undefined || from === to) continue
      const known = steps.get(from) ?? new Map<string, string>()
      steps.set(from, known.set(to, known.get(to) ?? `${source} → ${resolved}`))
    }
  }
  const reached = new Map([...steps.keys()].map((folder) => [folder, reachableFrom(folder, steps)]))
  const isTogether = (a: string, b: string): boolean =>
    reached.get(a)?.has(b) === true && reached.get(b)?.has(a) === true
  const rings = new Map<string, readonly string[]>()
  for (const folder of steps.keys()) {
    const ring = [...steps.keys()].filter((other) => isTogether(folder, other)).toSorted()
    if (ring.length > 1) rings.set(ring.join(), ring)
  }
  return [...rings.values()].map((ring) =>
    ring.flatMap((from) => ring.flatMap((to) => (from === to ? [] : (steps.get(from)?.get(to) ?? [])))),
  )
}

function reachableFrom(
  folder: string,
  steps: ReadonlyMap<string, ReadonlyMap<string, string>>,
): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const to of steps.get(next)?.keys() ?? []) {
      if (reached.has(to)) continue
      reached.add(to)
      waiting.push(to)
    }
  }
  return reached
}
