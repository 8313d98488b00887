/** One attempt of an attacker who has root inside a workspace, or sends what a program of ours reads. */
export interface Attack {
  /** Unique, such as `container/tcp/bridge-gateway`. */
  readonly id: string
  /** What is tried, in a few words. */
  readonly tries: string
}

/** How an attack went. `seen` says what was observed, in a few words. */
export interface Outcome {
  readonly attack: Attack
  readonly isReached: boolean
  readonly seen: string
}

/** A group of attacks that need the same surroundings. */
export interface Chapter {
  readonly name: string
  /** Plays its attacks; rejects when its own tools do not work, which counts as reached. */
  readonly play: (report: (outcome: Outcome) => void) => Promise<void>
}

/** Plays chapters one after the other and prints a line an attack. Returns how many were played and how many reached something. */
export async function playAll(
  chapters: readonly Chapter[],
): Promise<{ readonly played: number; readonly reached: number }> {
  const ids = new Set<string>()
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
      })
    } catch (error) {
      reached++
      ids.add(`${name} as a whole`)
      console.log(
        `REACHED ${name}: it could not be played to its end: ${error instanceof Error ? error.stack : String(error)}`,
      )
    }
    console.log(`== ${name} took ${((performance.now() - began) / 1000).toFixed(1)} s`)
  }
  return { played: ids.size, reached }
}
