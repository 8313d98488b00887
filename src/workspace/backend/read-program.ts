import type { Readable } from 'node:stream'
import { fault } from '../errors.ts'
import type { ExecProcess } from './backend.ts'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 30_000

/**
 * Reads all that a short program says. Programs inside are what a workspace's user makes of them, and can talk without
 * end or never end (fault F30): one that says more than 1 MiB, or takes longer than 30 s, is hung up. Throws
 * BACKEND_ERROR.
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
    await process.hangUp().catch(() => undefined)
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
    if (bytes > MAX_BYTES) throw fault('BACKEND_ERROR', 'a program in the workspace says too much')
  }
  return Buffer.concat(chunks).toString()
}
