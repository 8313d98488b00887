import { useEffect, useState } from 'preact/hooks'

/** A value that parts of the page are drawn from, and that tells them when another takes its place. */
export class Store<T> {
  #value: T
  readonly #readers = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const reader of this.#readers) reader()
  }

  /** Returns what ends it. */
  onChange(reader: () => void): () => void {
    this.#readers.add(reader)
    return () => void this.#readers.delete(reader)
  }
}

/** What `select` makes of the store's value; the part is drawn again when that is another. */
export function useStore<T, S = T>(store: Store<T>, select: (value: T) => S = (value) => value as never): S {
  const [, redraw] = useState<unknown>()
  const selected = select(store.value)
  useEffect(() => {
    let last = selected
    const look = (): void => {
      const next = select(store.value)
      if (Object.is(next, last)) return
      last = next
      redraw({})
    }
    // It may have changed between drawing and now.
    look()
    return store.onChange(look)
  }, [store, selected])
  return selected
}
