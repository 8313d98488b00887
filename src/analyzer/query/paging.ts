/** Rows of a page by default. */
export const DEFAULT_PAGE_SIZE = 50
/** Rows of a page at most. */
export const MAX_PAGE_SIZE = 10_000

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
