import type { Readable } from 'node:stream'
import { lastLogLines, logLinesOf } from '../log-lines.ts'
import type { DockerEngine } from './engine/engine.ts'

const HEADER_BYTES = 8

/** Returns the last lines printed by a container's main process on either stream. */
export async function readContainerLog(
  engine: DockerEngine,
  container: string,
  lines: number,
): Promise<readonly string[]> {
  const printed = await engine.call('reading the log', (abortSignal) =>
    engine.docker
      .getContainer(container)
      .logs({ stdout: true, stderr: true, follow: false, tail: lines, abortSignal }),
  )
  return lastLogLines(payloadsOf(printed), lines)
}

/** Yields the last lines of a container's log, then new ones, until its main process exits or the signal aborts. */
export async function* followContainerLog(
  engine: DockerEngine,
  container: string,
  lines: number,
  abortSignal: AbortSignal,
): AsyncGenerator<string> {
  const output = (await engine.call('reading the log', () =>
    engine.docker
      .getContainer(container)
      .logs({ stdout: true, stderr: true, follow: true, tail: lines, abortSignal }),
  )) as Readable
  try {
    yield* logLinesOf(payloadsIn(output))
  } catch (error) {
    if (!abortSignal.aborted) throw error
  } finally {
    output.destroy()
  }
}

/** Strips the frame headers of a stream (see `payloadsOf`). */
async function* payloadsIn(output: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let header = Buffer.alloc(0)
  let left = 0
  for await (const chunk of output) {
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        const part = chunk.subarray(at, at + HEADER_BYTES - header.length)
        header = Buffer.concat([header, part])
        at += part.length
        if (header.length < HEADER_BYTES) break
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
      } else {
        const part = chunk.subarray(at, at + left)
        at += part.length
        left -= part.length
        yield part
      }
    }
  }
}

/**
 * Strips the engine's frame headers: 8 bytes, the last four of which are the payload length (see demux.ts).
 */
function payloadsOf(frames: Buffer): string {
  const payloads: Buffer[] = []
  for (let at = 0; at + HEADER_BYTES <= frames.length;) {
    const end = at + HEADER_BYTES + frames.readUInt32BE(at + 4)
    payloads.push(frames.subarray(at + HEADER_BYTES, end))
    at = end
  }
  return Buffer.concat(payloads).toString()
}
