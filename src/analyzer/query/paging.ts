import { fault } from '../errors.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 10_000

/** A requested page. */
export interface Paging {
  /** From 0. */
  readonly page: number
  readonly size: number
}

/** A page of a list. */
export interface Page<T> {
  readonly rows: readonly T[]
  readonly totalCount: number
  readonly page: number
  readonly pageSize: number
  readonly totalPages: number
}

/** Validates a requested page. @throws BAD_REQUEST when it is invalid */
export function parsePaging(page: number | undefined, size: number | undefined): Paging {
  const paging = { page: page ?? 0, size: size ?? DEFAULT_PAGE_SIZE }
  if (!Number.isSafeInteger(paging.page) || paging.page < 0) {
    throw fault('BAD_REQUEST', `page must be a whole number from 0, not ${page}`)
  }
  if (!Number.isSafeInteger(paging.size) || paging.size < 1 || paging.size > MAX_PAGE_SIZE) {
    throw fault('BAD_REQUEST', `size must be a whole number from 1 to ${MAX_PAGE_SIZE}, not ${size}`)
  }
  return paging
}

/** Returns a page of a list, creating only its own rows. */
export function pageOf<Row, T>(all: ArrayLike<Row>, { page, size }: Paging, show: (row: Row) => T): Page<T> {
  const start = Math.min(page * size, all.length)
  const rows = Array.from({ length: Math.min(size, all.length - start) }, (_, i) =>
    show(all[start + i] as Row),
  )
  return { rows, totalCount: all.length, page, pageSize: size, totalPages: Math.ceil(all.length / size) }
}

/** Returns a page of rows in groups of known sizes, creating only the rows of groups on the page. */
export function pageOfGroups<Group, T>(
  groups: ArrayLike<Group>,
  countOf: (group: Group) => number,
  { page, size }: Paging,
  show: (group: Group) => readonly T[],
): Page<T> {
  const rows: T[] = []
  const start = page * size
  let totalCount = 0
  for (let i = 0; i < groups.length; i++) {
    const group = groups[i] as Group
    const before = totalCount
    totalCount += countOf(group)
    if (totalCount > start && rows.length < size) {
      const skipped = Math.max(0, start - before)
      rows.push(...show(group).slice(skipped, skipped + size - rows.length))
    }
  }
  return { rows, totalCount, page, pageSize: size, totalPages: Math.ceil(totalCount / size) }
}
