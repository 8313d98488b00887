import { type Command, Option } from 'commander'
import { createOutput, type Output } from '../../../lib/cli/output.ts'
import { WorkspaceClient } from '../../client/client.ts'
import type { ServerAddress } from '../../client/server-address.ts'
import { findServer } from './servers.ts'

/** What every command that talks to a server works with. */
export interface CliContext {
  readonly client: WorkspaceClient
  readonly server: ServerAddress
  readonly output: Output
}

/** Adds the option that every command which talks to a server has. */
export function addServerOption(command: Command): Command {
  return command.option('-s, --server <name>', "server to talk to, from the CLI's configuration")
}

/** Adds the option of those commands that can ask several servers at once. */
export function addAllOption(command: Command): Command {
  return command.addOption(
    new Option('--all', "ask every server of the CLI's configuration").conflicts('server'),
  )
}

/** Where the result of a command goes. */
export function outputOf(command: Command): Output {
  return createOutput(command.optsWithGlobals())
}

/** Reads the options that stand before or after the command's name. */
export async function contextOf(command: Command): Promise<CliContext> {
  const options: { server?: string; json?: boolean; table?: boolean } = command.optsWithGlobals()
  const server = await findServer(process.env, options.server)
  return { client: new WorkspaceClient(server), server, output: createOutput(options) }
}
