/** Returns the ids that pass a test. Like `filter` of a typed array, which takes three times as long. */
export function filterIds(ids: Int32Array, test: (id: number) => boolean): Int32Array {
  const passed = new Int32Array(ids.length)
  let count = 0
  for (const id of ids) if (test(id)) passed[count++] = id
  return passed.subarray(0, count)
}
