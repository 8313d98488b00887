import { Readable } from 'node:stream'
import type { DockerEngine } from '../engine/engine.ts'
import { type ProgressEvent, progressEvents } from '../engine/progress-events.ts'

const TIMEOUT_MS = 30 * 60_000

/**
 * Sends an archive to the engine while that reads it, and passes on its events.
 *
 * @throws the error of the archive if it cannot be read
 * @throws Error with a sentence if the engine needs too long
 */
export async function sendArchive(
  engine: DockerEngine,
  what: string,
  content: AsyncGenerator<Buffer>,
  request: {
    readonly send: (archive: Readable, abortSignal: AbortSignal) => Promise<NodeJS.ReadableStream>
    readonly onEvent: (event: ProgressEvent) => void
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { send, onEvent, signal } = request
  const archive = Readable.from(content, { objectMode: false })
  const failed = new AbortController()
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let unreadable: Error | undefined
  // The engine would wait for the rest.
  archive.once('error', (error: Error) => {
    unreadable = error
    failed.abort()
  })
  try {
    await engine.call(
      what,
      async (abortSignal) => {
        for await (const event of progressEvents(await send(archive, abortSignal))) onEvent(event)
      },
      { deadlineMs: 0, signal: AbortSignal.any([signal, failed.signal, timeout]) },
    )
  } catch (error) {
    signal.throwIfAborted()
    if (unreadable !== undefined) throw unreadable
    if (timeout.aborted) throw new Error(`${what} takes longer than 30 minutes`, { cause: error })
    throw error
  } finally {
    archive.destroy()
  }
}
