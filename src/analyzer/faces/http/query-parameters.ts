import type { FastifyRequest } from 'fastify'
import { fault } from '../../errors.ts'
import { type Paging, parsePaging } from '../../query/paging.ts'

/** Query parameters of a request, parsed on access. Unknown parameters are rejected. */
export class QueryParameters {
  readonly #values: ReadonlyMap<string, string>

  /** @throws BAD_REQUEST when a parameter is unknown or repeated */
  constructor(request: FastifyRequest, known: readonly string[]) {
    const values = new Map<string, string>()
    for (const [key, value] of Object.entries(request.query as Record<string, string | string[]>)) {
      if (!known.includes(key)) {
        throw fault(
          'BAD_REQUEST',
          `query parameter "${key.slice(0, 80)}" is unknown; known parameters: ${known.join(', ')}`,
        )
      }
      if (typeof value !== 'string')
        throw fault('BAD_REQUEST', `query parameter "${key}" appears more than once`)
      if (value !== '') values.set(key, value)
    }
    this.#values = values
  }

  text(key: string): string | undefined {
    return this.#values.get(key)
  }

  flag(key: string): boolean {
    const value = this.#values.get(key)
    if (value === undefined || value === 'false') return false
    if (value === 'true') return true
    throw fault('BAD_REQUEST', `query parameter "${key}" must be true or false, not "${value.slice(0, 80)}"`)
  }

  number(key: string): number | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    if (/^\d{1,9}$/.test(value)) return Number(value)
    throw fault('BAD_REQUEST', `query parameter "${key}" must be a whole number, not "${value.slice(0, 80)}"`)
  }

  /** Returns a parameter that must be one of some words. */
  word<Word extends string>(key: string, words: readonly Word[]): Word | undefined {
    const value = this.#values.get(key)
    const known = words.find((word) => word === value)
    if (value === undefined || known !== undefined) return known
    throw fault(
      'BAD_REQUEST',
      `query parameter "${key}" must be one of ${words.join(', ')}, not "${value.slice(0, 80)}"`,
    )
  }

  paging(): Paging {
    return parsePaging(this.number('page'), this.number('size'))
  }
}
