import { DEFAULT_PAGE_SIZE, type Paging } from '../../query/paging.ts'

/** Query parameters of a request, decoded by the schema of its route. */
export class QueryParameters {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(query: unknown) {
    this.#values = query as Readonly<Record<string, unknown>>
  }

  /** Returns a text; undefined when it is absent or empty. */
  text(key: string): string | undefined {
    const value = this.#values[key]
    return typeof value === 'string' && value !== '' ? value : undefined
  }

  flag(key: string, otherwise = false): boolean {
    const value = this.#values[key]
    return typeof value === 'boolean' ? value : otherwise
  }

  number(key: string): number | undefined {
    const value = this.#values[key]
    return typeof value === 'number' ? value : undefined
  }

  /** Returns a parameter that is one of some words. */
  word<Word extends string>(key: string, words: readonly Word[]): Word | undefined {
    return words.find((word) => word === this.#values[key])
  }

  paging(): Paging {
    return { page: this.number('page') ?? 0, size: this.number('size') ?? DEFAULT_PAGE_SIZE }
  }
}
