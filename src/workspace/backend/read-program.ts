import type { Readable } from 'node:stream'
import { fault } from '../errors.ts'
import type { ExecProcess } from './backend.ts'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 30_000

/**
 * Reads the entire output of a short program. Programs inside a workspace are untrusted and may print or run
 * for ever (fault F30): the program is hung up after 1 MiB or 30 s.
 *
 * @throws BACKEND_ERROR when the output exceeds the limit
 */
export async function readProgram(
  process: ExecProcess,
): Promise<{ readonly stdout: string; readonly stderr: string; readonly status: number }> {
  const late = setTimeout(() => void process.hangUp(), TIMEOUT_MS)
  try {
    const [stdout, stderr, { status }] = await Promise.all([
      read(process.stdout),
      read(process.stderr),
      process.exitStatus,
    ])
    return { stdout, stderr, status }
  } catch (error) {
    await process.hangUp()
    throw error
  } finally {
    clearTimeout(late)
  }
}

async function read(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw fault('BACKEND_ERROR', "the program's output exceeds the limit of 1 MiB")
  }
  return Buffer.concat(chunks).toString()
}
