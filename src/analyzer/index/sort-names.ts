import { firstFrom } from './sorted.ts'
import type { StringPool } from './string-pool.ts'

/**
 * The names that are classes, in the order of their texts.
 *
 * @param classOf by name's id; -1 for what is no class
 * @param before names in that order, most of which are still classes
 */
export function sortNames(
  names: StringPool,
  classOf: Int32Array,
  before: Int32Array = new Int32Array(),
): Int32Array {
  const kept = before.filter((name) => (classOf[name] ?? -1) !== -1)
  const isKept = new Uint8Array(classOf.length)
  for (const name of kept) isKept[name] = 1
  const added: { readonly name: number; readonly text: string }[] = []
  for (let name = 0; name < classOf.length; name++) {
    if (classOf[name] !== -1 && isKept[name] === 0) added.push({ name, text: names.decode(name) })
  }
  added.sort((a, b) => (a.text < b.text ? -1 : 1))
  const sorted = new Int32Array(kept.length + added.length)
  let from = 0
  for (const [index, { name, text }] of added.entries()) {
    const to = firstFrom(from, kept.length, (at) => names.decode(kept[at] ?? 0) < text)
    sorted.set(kept.subarray(from, to), from + index)
    sorted[to + index] = name
    from = to
  }
  sorted.set(kept.subarray(from), from + added.length)
  return sorted
}
