import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ignore } from '../errors/ignore.ts'
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
  /** Path of the token file; null if requests need no token. */
  tokenFile: Type.Union([Type.String(), Type.Null()]),
})

/**
 * A running server's record for its user's clients. It is in the user's own directory, which a project cannot name, so a token is
 * only sent to a recorded server.
 */
export type ServerRecord = Readonly<Static<typeof recordSchema>>

const FILE = 'server.json'

/** Records this process as the server of a directory. Returns a function that removes the record. */
export async function writeServerRecord(
  directory: string,
  address: { readonly url: string; readonly tokenFile: string | null },
): Promise<() => Promise<void>> {
  const file = join(directory, FILE)
  makeDirs(directory, 0o700)
  const record: ServerRecord = { process: identityOf(process.pid), ...address }
  await writeFileDurable(file, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  return async () => {
    // Another server may have replaced the record meanwhile.
    if ((await readRecord(file))?.process.pid !== process.pid) return
    await rm(file, { force: true }).catch(
      ignore('clients ignore the record of a process that no longer runs'),
    )
  }
}

/** Returns the recorded server of a directory; undefined if there is none or its process no longer runs. */
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

/** Returns the URL at which local programs reach a listener. */
export function localUrl(host: string, port: number): string {
  return `http://${connectableHost(host)}:${port}`
}

function connectableHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
