import { SEED } from './seed.ts'

/** Scales the number of rounds, such as those of a property: few in normal runs, all in `npm run test:all`. */
export function rounds(few: number, all: number): number {
  return process.env['RACES'] === 'all' ? all : few
}

/** Every `stride`-th item from a first one that the seed chooses; all items in `npm run test:races`. */
export function sample<T>(items: readonly T[], stride: number): readonly T[] {
  const step = rounds(stride, 1)
  const first = SEED % step
  return items.filter((_, at) => at % step === first)
}
