import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirs } from '../fs/make-dirs.ts'
import { writeFileDurable } from '../fs/write-durable.ts'
import { identityOf, isRunning, processIdentity } from '../process/process-identity.ts'
import type { Static } from 'typebox'
import { parseJson } from '../schema/parse-json.ts'
import { Type } from '../schema/type.ts'

const recordSchema = Type.Object({
  process: Type.Object(processIdentity),
  /** Address of the API, `http://HOST:PORT`. */
  url: Type.String(),
  /** File of the token that requests need; null where they need none. */
  tokenFile: Type.Union([Type.String(), Type.Null()]),
})

/**
 * A running server, as it reports itself to its user's clients. The record lies in that user's own directory, which no project
 * can name: a token goes only where such a record says.
 */
export type ServerRecord = Readonly<Static<typeof recordSchema>>

const FILE = 'server.json'

/** Records this process as the server of a directory; the result removes the record again. */
export async function writeServerRecord(
  directory: string,
  address: { readonly url: string; readonly tokenFile: string | null },
): Promise<() => Promise<void>> {
  const file = join(directory, FILE)
  makeDirs(directory, 0o700)
  const record: ServerRecord = { process: identityOf(process.pid), ...address }
  await writeFileDurable(file, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  return async () => {
    // A server with another state directory may have written its own meanwhile.
    if ((await readRecord(file))?.process.pid !== process.pid) return
    // One that stays, on a disk that became read-only, names a process that no longer runs: nobody believes it.
    await rm(file, { force: true }).catch(() => undefined)
  }
}

/** Returns the server that a directory records; undefined without one, and where that process no longer runs. */
export async function findServerRecord(directory: string): Promise<ServerRecord | undefined> {
  const record = await readRecord(join(directory, FILE))
  return record !== undefined && isRunning(record.process) ? record : undefined
}

async function readRecord(file: string): Promise<ServerRecord | undefined> {
  try {
    const record = parseJson(recordSchema, await readFile(file, 'utf8'))
    return record !== undefined && URL.canParse(record.url) ? record : undefined
  } catch {
    return undefined
  }
}

/** URL by which programs of this machine reach what listens at an address. */
export function localUrl(host: string, port: number): string {
  return `http://${connectableHost(host)}:${port}`
}

function connectableHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
