/** Returns all items of an iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of items) all.push(each)
  return all
}
