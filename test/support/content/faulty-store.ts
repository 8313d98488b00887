import { Readable } from 'node:stream'
import { fault } from '../../../src/content/errors.ts'
import type { OpenedObject, OpenOptions, Store } from '../../../src/content/store/store.ts'

/** A real store that can be made to fail, and that records requests. */
export class FaultyStore implements Store {
  fails: 'no' | 'down' | 'hangs' | 'half' = 'no'
  readonly opened: string[] = []
  lists = 0
  readonly #inner: Store
  #release = Promise.withResolvers<void>()

  constructor(inner: Store) {
    this.#inner = inner
  }

  /** Releases all hanging requests. */
  release(): void {
    this.fails = 'no'
    this.#release.resolve()
    this.#release = Promise.withResolvers()
  }

  async open(
    key: string,
    options?: OpenOptions,
  ): Promise<OpenedObject | 'missing' | 'unchanged' | 'changed'> {
    this.opened.push(key)
    await this.#fail()
    const object = await this.#inner.open(key, options)
    if (typeof object === 'string' || this.fails !== 'half') return object
    object.body.destroy()
    const broken = fault('STORE_UNAVAILABLE', 'half a body')
    async function* half(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(Math.floor((object as OpenedObject).size / 2))
      throw broken
    }
    return { ...object, body: Readable.from(half(), { objectMode: false }) }
  }

  async listNames(prefix: string): Promise<readonly string[]> {
    this.lists++
    await this.#fail()
    return this.#inner.listNames(prefix)
  }

  list(prefix: string): ReturnType<Store['list']> {
    return this.#inner.list(prefix)
  }

  write(...given: Parameters<Store['write']>): Promise<void> {
    return this.#inner.write(...given)
  }

  replace(...given: Parameters<Store['replace']>): ReturnType<Store['replace']> {
    return this.#inner.replace(...given)
  }

  remove(key: string): Promise<void> {
    return this.#inner.remove(key)
  }

  removeUnfinished(...given: Parameters<Store['removeUnfinished']>): Promise<void> {
    return this.#inner.removeUnfinished(...given)
  }

  close(): void {
    this.#inner.close()
  }

  async #fail(): Promise<void> {
    if (this.fails === 'down') throw fault('STORE_UNAVAILABLE', 'the store is down')
    if (this.fails === 'hangs') await this.#release.promise
  }
}
