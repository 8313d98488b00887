import { isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { WorkspaceClient } from '../../client/client.ts'
import { type ConfiguredServer, findAllServers } from './servers.ts'

/** A server that has not answered by then counts as offline. */
const ANSWER_MS = 5_000

/** What one of several servers said, or why there is nothing. */
export type ServerAnswer<T> = { readonly serverName: string } & (
  { readonly answer: T; readonly client: WorkspaceClient } | { readonly error: string }
)

/** Asks every configured server at once; one that cannot be asked, or does not answer, spoils nothing. */
export async function askAllServers<T>(path: string): Promise<readonly ServerAnswer<T>[]> {
  return eachServer((client, signal) => client.get<T>(path, signal))
}

/** As `askAllServers`, for what may take a while: that a server is there has to show at once. */
export async function allServers<T>(
  work: (client: WorkspaceClient) => Promise<T>,
): Promise<readonly ServerAnswer<T>[]> {
  return eachServer(async (client, signal) => {
    await client.get('/api/info', signal)
    return work(client)
  })
}

async function eachServer<T>(
  work: (client: WorkspaceClient, signal: AbortSignal) => Promise<T>,
): Promise<readonly ServerAnswer<T>[]> {
  const servers = await findAllServers(process.env)
  return Promise.all(servers.map((server) => ask(server, work)))
}

async function ask<T>(
  server: ConfiguredServer,
  work: (client: WorkspaceClient, signal: AbortSignal) => Promise<T>,
): Promise<ServerAnswer<T>> {
  const serverName = server.name
  if ('fault' in server) return { serverName, error: server.fault.message }
  const signal = AbortSignal.timeout(ANSWER_MS)
  const client = new WorkspaceClient(server)
  try {
    return { serverName, client, answer: await work(client, signal) }
  } catch (error) {
    // Of an earlier version.
    if (isFault(error) && error.code === 'ROUTE_NOT_FOUND')
      return { serverName, error: `server ${serverName} is of a version that does not know this` }
    const late = `server ${serverName} at ${server.url} does not answer within ${ANSWER_MS / 1_000} s`
    return { serverName, error: signal.aborted ? late : messageOf(error) }
  }
}
