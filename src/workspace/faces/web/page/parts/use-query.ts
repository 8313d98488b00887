import { useEffect, useState } from 'preact/hooks'
import { fetchJson, messageOf } from '../server/request.ts'

/** The state of a query: loading, a value, an error, or an error with the previous value. */
export interface QueryResult<T> {
  readonly value?: T
  readonly error?: string
  readonly reload: () => void
}

/**
 * Fetches a path, and again every `everyMs` while the page is visible and when `version` changes; an undefined path
 * fetches nothing.
 */
export function useQuery<T>(path: string | undefined, everyMs?: number, version?: unknown): QueryResult<T> {
  const [answer, setAnswer] = useState<{ path?: string; value?: T; error?: string }>({})
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (path === undefined) return undefined
    const end = new AbortController()
    let isFirst = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = async (): Promise<void> => {
      try {
        // A hidden page is not refreshed.
        if (isFirst || document.visibilityState === 'visible') {
          isFirst = false
          const value = await fetchJson<T>(path, { signal: end.signal })
          setAnswer({ path, value })
        }
      } catch (error) {
        if (end.signal.aborted) return
        setAnswer((before) => ({
          path,
          error: messageOf(error),
          ...(before.path === path && before.value !== undefined && { value: before.value }),
        }))
      }
      if (everyMs !== undefined && !end.signal.aborted) timer = setTimeout(() => void run(), everyMs)
    }
    void run()
    return () => {
      end.abort()
      clearTimeout(timer)
    }
  }, [path, everyMs, version, round])
  const isOfPath = answer.path === path
  return {
    ...(isOfPath && answer.value !== undefined && { value: answer.value }),
    ...(isOfPath && answer.error !== undefined && { error: answer.error }),
    reload: () => setRound((before) => before + 1),
  }
}
