import { isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { WorkspaceClient } from '../../client/client.ts'
import { type ConfiguredServer, findAllServers } from '../../client/find-server.ts'

/** A server that has not answered within this time counts as offline. */
const ANSWER_MS = 5_000

/** One server's answer, or the reason why there is none. */
export type ServerAnswer<T> = { readonly serverName: string } & (
  { readonly answer: T; readonly client: WorkspaceClient } | { readonly error: string }
)

/** Sends a GET request to every configured server in parallel. A server that fails does not affect the others. */
export async function queryAllServers<T>(path: string): Promise<readonly ServerAnswer<T>[]> {
  return eachServer((client, signal) => client.get<T>(path, signal))
}

/** Like `queryAllServers`, for work that takes long: only the initial check that a server responds has a time limit. */
export async function runOnAllServers<T>(
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
    // The server has an earlier version.
    if (isFault(error) && error.code === 'ROUTE_NOT_FOUND')
      return { serverName, error: `server ${serverName} does not support this; upgrade it` }
    const timedOut = `server ${serverName} at ${server.url} did not respond within ${ANSWER_MS / 1_000} s`
    return { serverName, error: signal.aborted ? timedOut : messageOf(error) }
  }
}
