/** An attempt by an attacker who has root inside a workspace or controls input that our programs read. */
export interface Attack {
  /** Unique, such as `container/tcp/bridge-gateway`. */
  readonly id: string
  /** A short description. */
  readonly tries: string
}

/** The outcome of an attack; `seen` briefly describes the observation. */
export interface Outcome {
  readonly attack: Attack
  readonly isReached: boolean
  readonly seen: string
}

/** A group of attacks that share a setup. */
export interface Chapter {
  readonly name: string
  /** Runs its attacks with the wanted ids; rejects if its own tools fail, which counts as reached. */
  readonly play: (report: (outcome: Outcome) => void, isWanted: (id: string) => boolean) => Promise<void>
}

/**
 * Runs chapters in order and prints one line per attack. Returns the number of attacks and of those that reached something.
 *
 * @param core ids of attacks that are left when others of their chapters are left out; by default nothing is
 */
export async function playAll(
  chapters: readonly Chapter[],
  core?: ReadonlySet<string>,
): Promise<{ readonly played: number; readonly reached: number }> {
  const ids = new Set<string>()
  const isWanted = (id: string): boolean => core?.has(id) ?? true
  let reached = 0
  for (const { name, play } of chapters) {
    const began = performance.now()
    console.log(`== ${name}`)
    try {
      await play(({ attack, isReached, seen }) => {
        if (ids.has(attack.id)) throw new Error(`two attacks are called ${attack.id}`)
        ids.add(attack.id)
        if (isReached) reached++
        console.log(`${isReached ? 'REACHED' : 'held   '} ${attack.id}: ${attack.tries} (${seen})`)
      }, isWanted)
    } catch (error) {
      reached++
      ids.add(`${name} as a whole`)
      console.log(
        `REACHED ${name}: it failed to complete: ${error instanceof Error ? error.stack : String(error)}`,
      )
    }
    console.log(`== ${name} took ${((performance.now() - began) / 1000).toFixed(1)} s`)
  }
  for (const id of core ?? []) {
    if (ids.has(id)) continue
    reached++
    ids.add(id)
    console.log(`REACHED ${id}: it was not played, because no attack has this name any longer`)
  }
  return { played: ids.size, reached }
}
