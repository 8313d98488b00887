/** Long work of the addon on a thread of its own. */
export interface BackgroundWork {
  readonly done: Promise<unknown>
  /** How much of it is done, in its own unit. */
  seen(): number
  /** Rejects `done` with ECANCELED soon. */
  cancel(): void
}

const TELL_EVERY_MS = 200

/** Waits for the work's end, and tells of it meanwhile. A signal ends it; it rejects with the signal's reason then. */
export async function finish(
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
  const timer = onSeen && setInterval(() => onSeen(work.seen()), TELL_EVERY_MS)
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
