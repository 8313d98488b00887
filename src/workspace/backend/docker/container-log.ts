import { lastLogLines } from '../log-lines.ts'
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
