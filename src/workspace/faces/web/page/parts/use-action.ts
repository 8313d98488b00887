import { useState } from 'preact/hooks'
import { messageOf } from '../server/request.ts'

/** An action that a user starts. */
export interface Action {
  readonly isBusy: boolean
  /** Why it failed, until it is started again. */
  readonly problem: string | undefined
  readonly start: () => void
}

/** Runs an action on request. */
export function useAction(act: () => Promise<void>): Action {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const run = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await act()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return { isBusy, problem, start: () => void run() }
}
