import { checkUrl, findServer } from '../find-server.ts'
import { WorkspaceServer } from './server.ts'
import { Transport } from './transport.ts'

export type * from './code.ts'
export { ConnectionError, WaitTimeoutError, WorkspaceError } from './errors.ts'
export type * from './files.ts'
export type * from './process.ts'
export type * from './server.ts'
export type { FollowOptions, RequestOptions } from './transport.ts'
export type * from './workspace.ts'

/** Address of a server. */
export interface ConnectOptions {
  /** `http://…`, `https://…`, or `unix:///path/of/socket`; default as the command line finds its server. */
  readonly url?: string | undefined
  /** The server's token. The default for a server that is found is the token in its file; for a given URL, none. */
  readonly token?: string | undefined
}

/**
 * Returns a client of a workspace server. Without a URL, it finds the server as the command line does: WORKSPACE_URL, else the
 * default server of `cli.yaml`, else the one on this machine. The first request connects.
 */
export function connect({ url, token }: ConnectOptions = {}): WorkspaceServer {
  return new WorkspaceServer(
    new Transport(async () => {
      // The token of the environment belongs to the server of the environment, not to any URL.
      const address =
        url === undefined
          ? await findServer(process.env, undefined)
          : { name: 'workspace', url: checkUrl(url, 'url') }
      return { ...address, token }
    }),
  )
}
