import { expect, test } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** The observation of an attack, in the JSON report. */
    seen?: string
  }
}

/** An attempt by an attacker who has root inside a workspace or controls input that our programs read. */
export interface Attack {
  /** Unique in its chapter, such as `tcp/gateway`. */
  readonly id: string
  /** A short description. */
  readonly tries: string
}

/** The outcome of an attack. */
export interface Outcome {
  /** Everything that the attack reached; empty if it was held. */
  readonly harm: readonly string[]
  /** A short description of the observation. */
  readonly seen: string
}

/**
 * Makes each attack of a chapter a test, which fails if the attack did harm. The observation is in vitest's JSON report.
 *
 * @param core ids of the attacks that `.ci/run` plays; by default all. The others have the tag `long`
 */
export function testAttacks<A extends Attack>(
  chapter: string,
  attacks: readonly A[],
  play: (attack: A) => Outcome | Promise<Outcome>,
  core?: readonly string[],
): void {
  const ids = new Set(attacks.map(({ id }) => id))
  if (ids.size === 0) throw new Error(`the chapter ${chapter} has no attacks`)
  if (ids.size < attacks.length) throw new Error(`two attacks of the chapter ${chapter} have the same id`)
  const unknown = core?.filter((id) => !ids.has(id)) ?? []
  if (unknown.length > 0) throw new Error(`the chapter ${chapter} has no attack ${unknown.join(', ')}`)
  for (const attack of attacks) {
    const tags = core?.includes(attack.id) === false ? ['long'] : []
    test(`${chapter}/${attack.id}: ${attack.tries}`, { tags }, async ({ task }) => {
      const { harm, seen } = await play(attack)
      task.meta.seen = seen
      expect(harm, seen).toEqual([])
    })
  }
}
