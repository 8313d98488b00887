import { ignore } from '../errors/ignore.ts'

/** Closes resources in reverse order of opening. Replaces AsyncDisposableStack, which Node 22 lacks. */
export class DisposalStack {
  readonly #closers: (() => unknown)[] = []
  #closed: Promise<void> | undefined

  /** Registers a function that closes a resource. */
  defer(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Registers a resource and returns it. */
  use<T extends { readonly close: () => unknown }>(resource: T): T {
    this.defer(() => resource.close())
    return resource
  }

  /** Closes everything in reverse order, continuing after failures. @throws the first failure */
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

/** Opens several resources and closes them again if one fails. @throws its failure */
export async function openTogether<T>(open: (opened: DisposalStack) => Promise<T>): Promise<T> {
  const opened = new DisposalStack()
  try {
    return await open(opened)
  } catch (error) {
    await opened.close().catch(ignore('a second failure would hide the actionable one'))
    throw error
  }
}
