import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { portNumber, wholeNumber } from '../../../lib/cli/arguments.ts'
import type { ServerAddress } from '../../client/server-address.ts'
import type { WorkspaceLabels } from '../../labels.ts'
import { hostOf } from './ssh-client.ts'

/** Options of commands that create a workspace. */
export interface CreateOptions {
  readonly template?: string
  readonly repo?: string
  readonly localDir?: string
  readonly image?: string
  readonly backend?: string
  readonly cpus?: number
  readonly memoryMb?: number
  readonly upperSize?: number
  /** False with `--no-provision`. */
  readonly provision: boolean
  readonly dotfiles?: string
  readonly fromSnapshot?: string
  readonly egress?: string
  readonly hostPorts?: readonly number[]
  readonly label?: WorkspaceLabels
  readonly wake?: boolean
}

/** Adds the options of commands that create a workspace. */
export function addCreateOptions(command: Command): Command {
  return command
    .option(
      '--template <name>',
      "template to start from (see 'workspace templates'); other options override it",
    )
    .option('--repo <repo>', 'repository to clone: owner/repo on GitHub, or a URL')
    .option(
      '--local-dir <dir>',
      'directory on the server to mount instead of cloning; relative paths need a local server',
    )
    .option('--image <image>', "image or alias (default: the server's)")
    .option('--backend <backend>', 'docker, firecracker, vz or qemu')
    .option('--cpus <n>', 'number of CPUs', wholeNumber)
    .option('--memory-mb <n>', 'memory in MiB', wholeNumber)
    .option('--upper-size <gb>', "size of a virtual machine's writable disk in GB, 1 to 100", wholeNumber)
    .option('--from-snapshot <name>', 'snapshot to copy the disk from; excludes --repo and --image')
    .option('--no-provision', 'ignore devcontainer.json and dotfiles')
    .option('--dotfiles <repo>', 'repository with dotfiles for the home directory')
    .option(
      '--egress <what>',
      'restrict outgoing traffic: internet, none, or a comma-separated list of names and networks',
    )
    .option(
      '--host-ports <ports>',
      "allow only these of the host ports that the server permits, comma-separated; '' for none",
      portList,
    )
    .option('--wake', "start it when somebody connects to it (default: the server's idle.wake)")
    .option('--no-wake', 'start it only when asked to')
    .option('--label <key=value>', 'label to select it by later; repeatable', addLabel)
}

/** Returns the body of the request that creates a workspace. */
export function createBody(name: string, options: CreateOptions, server: ServerAddress): object {
  const { localDir, memoryMb, upperSize, repo, image, backend, cpus, provision, dotfiles, fromSnapshot } =
    options
  const { template, egress, hostPorts, label: labels, wake } = options
  const renamed = {
    local_dir: localDir === undefined ? undefined : directoryFor(server, localDir),
    from_snapshot: fromSnapshot,
    memory_mb: memoryMb,
    upper_size_bytes: upperSize === undefined ? undefined : upperSize * 2 ** 30,
    ...(!provision && { no_provision: true }),
    ...((egress !== undefined || hostPorts !== undefined) && {
      network: { egress, allow_host_ports: hostPorts },
    }),
  }
  return { name, template, repo, image, backend, cpus, dotfiles, labels, wake, ...renamed }
}

/** Resolves a relative path if the server is on this machine; passes it unchanged to a remote server. */
function directoryFor(server: ServerAddress, directory: string): string {
  return /^(?:localhost|127\.[\d.]+|::1)$/.test(hostOf(server)) ? resolve(directory) : directory
}

/** Parses a comma-separated list of ports; '' is an empty list. */
function portList(text: string): readonly number[] {
  const ports = text.split(',').filter(Boolean).map(portNumber)
  if (ports.every((port) => port > 0)) return ports
  throw new InvalidArgumentError('It must be a comma-separated list of ports from 1 to 65535.')
}

/** Adds a `key=value` to the labels before it; the server validates both. */
function addLabel(text: string, before: WorkspaceLabels = {}): WorkspaceLabels {
  const at = text.indexOf('=')
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
  throw new InvalidArgumentError('It must be KEY=VALUE, such as team=web.')
}
