import { useEffect, useState } from 'preact/hooks'

/** An observable value. */
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

  /** Subscribes to changes; returns a function that unsubscribes. */
  onChange(reader: () => void): () => void {
    this.#readers.add(reader)
    return () => void this.#readers.delete(reader)
  }
}

/** Returns the selected part of a store's value and redraws the component when it changes. */
export function useStore<T, S = T>(store: Store<T>, select: (value: T) => S = (value) => value as never): S {
  const [, redraw] = useState<unknown>()
  const selected = select(store.value)
  useEffect(() => {
    let last = selected
    const check = (): void => {
      const next = select(store.value)
      if (Object.is(next, last)) return
      last = next
      redraw({})
    }
    // The value may have changed since rendering.
    check()
    return store.onChange(check)
  }, [store, selected])
  return selected
}
