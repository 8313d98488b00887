import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'
import type { QueryResult } from './use-query.ts'
import { Problem } from './problem.tsx'

interface QueryViewProps<T> {
  readonly query: QueryResult<T>
  readonly children: (value: T) => ComponentChildren
}

/** Shows a query's value, its error, or that it is loading. */
export function QueryView<T>({ query, children }: QueryViewProps<T>) {
  return (
    <>
      {query.error !== undefined && <Problem>{query.error}</Problem>}
      {query.value !== undefined && children(query.value)}
      {query.value === undefined && query.error === undefined && <p class="faint">{texts.loading}</p>}
    </>
  )
}
