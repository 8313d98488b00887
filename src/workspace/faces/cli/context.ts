import { type Command, Option } from 'commander'
import { createOutput, type Output } from '../../../lib/cli/output.ts'
import { WorkspaceClient } from '../../client/client.ts'
import type { ServerAddress } from '../../client/server-address.ts'
import { findServer } from '../../client/find-server.ts'

/** Client, server and output of a command that talks to a server. */
export interface CliContext {
  readonly client: WorkspaceClient
  readonly server: ServerAddress
  readonly output: Output
}

/** Adds the `--server` option. */
export function addServerOption(command: Command): Command {
  return command.option('-s, --server <name>', "server to use, from the CLI's configuration")
}

/** Adds the `--all` option, for commands that can query several servers. */
export function addAllOption(command: Command): Command {
  return command.addOption(
    new Option('--all', "query every server in the CLI's configuration").conflicts('server'),
  )
}

/** Returns the output of a command. */
export function outputOf(command: Command): Output {
  return createOutput(command.optsWithGlobals())
}

/** Creates the context from the options before or after the command's name. */
export async function contextOf(command: Command): Promise<CliContext> {
  const options: { server?: string; json?: boolean; table?: boolean } = command.optsWithGlobals()
  const server = await findServer(process.env, options.server)
  return { client: new WorkspaceClient(server), server, output: createOutput(options) }
}
