/** Resources in the order they were opened, to close in reverse order. Stands in for AsyncDisposableStack, which Node 22 lacks. */
export class DisposalStack {
  readonly #closers: (() => unknown)[] = []
  #closed: Promise<void> | undefined

  /** Registers how something that has just been opened is closed. */
  defer(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Registers a resource that has just been opened, and returns it. */
  use<T extends { readonly close: () => unknown }>(resource: T): T {
    this.defer(() => resource.close())
    return resource
  }

  /** Closes everything, the last opened first, also what comes after a failure. @throws the first failure */
  close(): Promise<void> {
    return (this.#closed ??= this.#closeAll())
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = []
    for (const close of this.#closers.toReversed()) {
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}

/** Opens several things one after the other. Closes them again when one of them fails. @throws its failure */
export async function openTogether<T>(open: (opened: DisposalStack) => Promise<T>): Promise<T> {
  const opened = new DisposalStack()
  try {
    return await open(opened)
  } catch (error) {
    // A second failure would hide the one that a user can act on.
    await opened.close().catch(() => undefined)
    throw error
  }
}
