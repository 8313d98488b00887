import { request } from '../../../lib/http/node-http.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { Type } from '../../../lib/schema/type.ts'

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

const faultSchema = Type.Object({ fault_message: Type.String() })

/** Returns what an answer says is wrong; one of another shape is told as it is. */
function faultOf(text: string): string {
  return (parseJson(faultSchema, text)?.fault_message ?? text).slice(0, 500)
}
