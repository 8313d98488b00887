import { Random } from '../../../src/lib/random/random.ts'

export { Random }

/** Returns a generator for one numbered case of a run, so that each case can be reproduced alone. */
export function randomFor(seed: number, number: number): Random {
  return new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
}
