import { simpleNameOf } from './names.ts'
import type { Snapshot } from './snapshot.ts'
import { wildcard } from './wildcard.ts'

/** A test of names by their ids in the index. Each is looked at once, however often it is asked for. */
export function nameTest(
  { index: { names } }: Snapshot,
  fits: (text: string) => boolean,
): (name: number) => boolean {
  /** 0: not looked at yet; 1: it does not fit; 2: it does. */
  const known = new Uint8Array(names.count)
  return (name) => {
    if (known[name] === 0) known[name] = fits(names.get(name)) ? 2 : 1
    return known[name] === 2
  }
}

/** A test of internal names: a pattern fits the whole name as people write it, or the simple one. */
export function classNameFits(pattern: string): (internalName: string) => boolean {
  const fits = wildcard(pattern.replaceAll('.', '/'))
  // What fits the end of the name fits the simple one too.
  if (pattern.startsWith('*')) return fits
  return (name) => fits(name) || fits(simpleNameOf(name.slice(name.lastIndexOf('/') + 1)))
}

/** The same of their packages. */
export function packageFits(pattern: string): (internalName: string) => boolean {
  const fits = wildcard(pattern.replaceAll('.', '/'))
  return (name) => fits(name.slice(0, Math.max(0, name.lastIndexOf('/'))))
}
