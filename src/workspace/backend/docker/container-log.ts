import type { Readable } from 'node:stream'
import { lastLogLines, logLinesOf } from '../log-lines.ts'
import { FrameParser } from './engine/demux.ts'
import type { DockerEngine } from './engine/engine.ts'

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
  const payloads: Buffer[] = []
  for await (const payload of payloadsIn([printed])) payloads.push(payload)
  return lastLogLines(Buffer.concat(payloads).toString(), lines)
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

/** Returns what both streams contain, without the engine's frames. */
async function* payloadsIn(output: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  const frames = new FrameParser()
  for await (const chunk of output) for (const { bytes } of frames.read(chunk)) yield bytes
}
