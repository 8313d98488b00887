/** Work of the addon on a background thread. */
export interface BackgroundWork {
  readonly done: Promise<unknown>
  /** Amount of work done, in its own unit. */
  seen(): number
  /** Rejects `done` with ECANCELED soon. */
  cancel(): void
}

const REPORT_INTERVAL_MS = 200

/**
 * Waits for background work and reports progress. Aborting the signal cancels the work, and the promise
 * rejects with the signal's reason.
 */
export async function waitForWork(
  work: BackgroundWork,
  options: {
    readonly signal?: AbortSignal | undefined
    readonly onSeen?: ((count: number) => void) | undefined
  } = {},
): Promise<unknown> {
  const { signal, onSeen } = options
  const cancel = (): void => work.cancel()
  if (signal?.aborted === true) cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  const timer = onSeen && setInterval(() => onSeen(work.seen()), REPORT_INTERVAL_MS)
  try {
    return await work.done
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', cancel)
  }
}
