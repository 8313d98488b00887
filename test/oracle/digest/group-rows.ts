import { IntList } from './int-list.ts'

/**
 * Sorts rows by a key from 0 to below `count`, keeping the order of those with the same.
 *
 * @returns the rows in order; the keys that there are, and where in the order the rows of each begin, with the last one's end
 */
export function groupRows(keyOf: IntList, count: number) {
  const starts = new Int32Array(count + 1)
  for (let row = 0; row < keyOf.length; row++)
    starts[keyOf.at(row) + 1] = (starts[keyOf.at(row) + 1] ?? 0) + 1
  const keys = new IntList()
  const first = new IntList()
  for (let key = 0; key < count; key++) {
    if ((starts[key + 1] ?? 0) > 0) {
      keys.push(key)
      first.push(starts[key] ?? 0)
    }
    starts[key + 1] = (starts[key + 1] ?? 0) + (starts[key] ?? 0)
  }
  first.push(keyOf.length)
  const order = new Int32Array(keyOf.length)
  for (let row = 0; row < keyOf.length; row++) {
    const key = keyOf.at(row)
    order[starts[key] ?? 0] = row
    starts[key] = (starts[key] ?? 0) + 1
  }
  return { order, keys: keys.values(), first: first.values() }
}
