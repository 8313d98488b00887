import { request } from '../../../lib/http/node-http.ts'

const TIMEOUT_MS = 10_000

/**
 * Says one thing to a Firecracker by its socket. Source: its API description, firecracker.yaml. Rejects with its words when it
 * refuses, and when it does not answer within 10 s.
 */
export function callFirecracker(
  socketPath: string,
  method: 'PUT' | 'PATCH',
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const json = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const call = request(
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
          reject(new Error(`${method} ${path}: ${faultOf(Buffer.concat(pieces).toString())}`))
        })
      },
    )
    call.once('timeout', () => call.destroy(new Error(`${method} ${path}: no answer`)))
    call.once('error', reject)
    call.end(json)
  })
}

function faultOf(text: string): string {
  try {
    const { fault_message: message } = JSON.parse(text) as { readonly fault_message?: unknown }
    if (typeof message === 'string') return message.slice(0, 500)
  } catch {
    // Not what it answers with: told as it is.
  }
  return text.slice(0, 500)
}
