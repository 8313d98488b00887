import { useEffect, useState } from 'preact/hooks'
import { ask, messageOf } from '../server/request.ts'

/** What a question has come to: an answer, an error, neither yet; or an error and the answer from before. */
export interface Asked<T> {
  readonly value?: T
  readonly error?: string
  readonly reload: () => void
}

/** The answer to a GET, asked again every so often while it is shown; undefined as a path asks nothing. */
export function useAsked<T>(path: string | undefined, everyMs?: number): Asked<T> {
  const [answer, setAnswer] = useState<{ path?: string; value?: T; error?: string }>({})
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (path === undefined) return undefined
    const end = new AbortController()
    let isFirst = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = async (): Promise<void> => {
      try {
        // What nobody sees need not be renewed.
        if (isFirst || document.visibilityState === 'visible') {
          isFirst = false
          const value = await ask<T>(path, { signal: end.signal })
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
  }, [path, everyMs, round])
  const isOfPath = answer.path === path
  return {
    ...(isOfPath && answer.value !== undefined && { value: answer.value }),
    ...(isOfPath && answer.error !== undefined && { error: answer.error }),
    reload: () => setRound((before) => before + 1),
  }
}
