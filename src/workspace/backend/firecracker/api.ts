import { setTimeout as delay } from 'node:timers/promises'
import { request } from '../../../lib/http/node-http.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { Type } from '../../../lib/schema/type.ts'

const TIMEOUT_MS = 10_000

const RETRY_MS = 20

/**
 * Sends one request to a Firecracker process over its socket. Source: its API description, firecracker.yaml.
 * Rejects with Firecracker's error message when it refuses, and when it does not respond within 10 s.
 */
export async function callFirecracker(
  socketPath: string,
  method: 'PUT' | 'PATCH',
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const untilMs = performance.now() + TIMEOUT_MS
  while (true) {
    try {
      return await call(socketPath, method, path, body)
    } catch (error) {
      // The socket exists a moment before Firecracker listens on it.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED' || performance.now() > untilMs) throw error
      await delay(RETRY_MS)
    }
  }
}

function call(
  socketPath: string,
  method: 'PUT' | 'PATCH',
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const json = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        socketPath,
        method,
        path,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) },
        timeout: TIMEOUT_MS,
      },
      (answer) => {
        const pieces: Buffer[] = []
        answer.on('data', (piece: Buffer) => pieces.push(piece))
        answer.once('error', reject)
        answer.once('end', () => {
          if (answer.statusCode === 204) return resolve()
          reject(new Error(`${method} ${path}: ${errorMessageOf(Buffer.concat(pieces).toString())}`))
        })
      },
    )
    sent.once('timeout', () => sent.destroy(new Error(`${method} ${path}: timed out`)))
    sent.once('error', reject)
    sent.end(json)
  })
}

const errorSchema = Type.Object({ fault_message: Type.String() })

/** Returns the error message of a response, or the whole text when it has another shape. */
function errorMessageOf(text: string): string {
  return (parseJson(errorSchema, text)?.fault_message ?? text).slice(0, 500)
}
