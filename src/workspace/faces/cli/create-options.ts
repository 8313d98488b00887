import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { portNumber, wholeNumber } from '../../../lib/cli/arguments.ts'
import type { ServerAddress } from '../../client/server-address.ts'
import type { WorkspaceLabels } from '../../labels.ts'
import { parseDuration } from '../../../lib/config/duration.ts'
import { REST_KINDS } from '../../schedule.ts'
import { EXPIRE_ACTIONS } from '../../workspace-settings.ts'
import { BACKEND_NAMES } from '../../backend-name.ts'
import { hostOf } from './ssh-client.ts'

/** Value of options without a limit. */
export const NO_LIMIT = 'never'
const DEFAULT = 'default'

/** Options of commands that create a workspace or change its settings. */
export interface SettingsOptions {
  readonly label?: WorkspaceLabels
  readonly wake?: boolean
  /** A duration, 0 for never, or `default` for the server's. */
  readonly stopAfter?: string
  readonly suspendAfter?: string
  readonly checkpointEvery?: string
  readonly checkpointKeep?: number
  readonly checkpointMaxAge?: string
  readonly expires?: SettingsExpiry
  readonly expireAction?: string
  /** Days and a time, a crontab(5) expression, `never`, or `default` for the server's. */
  readonly startAt?: string
  readonly stopAt?: string
  readonly timeZone?: string
  readonly rest?: string
}

type SettingsExpiry = { readonly ttl_s: number } | { readonly expires_at: string }

/** Options of commands that create a workspace. */
export interface CreateOptions extends SettingsOptions {
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
  readonly egressProfile?: string
  readonly hostPorts?: readonly number[]
}

/** Adds the options of commands that create a workspace. */
export function addCreateOptions(command: Command): Command {
  command
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
    .option('--backend <backend>', BACKEND_NAMES.join(', '))
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
      '--egress-profile <name>',
      "egress profile of the server: the workspace reaches only what its rules allow, through the server's proxy",
    )
    .option(
      '--host-ports <ports>',
      "allow only these of the host ports that the server permits, comma-separated; '' for none",
      portList,
    )

  return addSettingsOptions(command)
}

/** Adds the options of commands that create a workspace or change its settings. */
export function addSettingsOptions(command: Command): Command {
  return command
    .option('--wake', "start it when somebody connects to it (default: the server's idle.wake)")
    .option('--no-wake', 'start it only when asked to')
    .option('--label <key=value>', 'label to select it by later; repeatable', addLabel)
    .option(
      '--stop-after <duration>',
      "stop it after this idle time, such as 2h; never; default: the server's",
      idleLimit,
    )
    .option(
      '--suspend-after <duration>',
      "suspend it after this idle time, where that is possible; never; default: the server's",
      idleLimit,
    )
    .option(
      '--checkpoint-every <duration>',
      'take a checkpoint after this time, such as 10m; never',
      idleLimit,
    )
    .option('--checkpoint-keep <n>', 'number of such checkpoints to keep (default: 10)', wholeNumber)
    .option(
      '--checkpoint-max-age <duration>',
      'age at which they are deleted; never (default: 7d)',
      idleLimit,
    )
    .option('--expires <when>', 'duration such as 7d, time such as 2027-01-31T18:00:00Z, or never', expiry)
    .addOption(
      new Option('--expire-action <action>', 'what happens when it expires (default: stop)').choices(
        EXPIRE_ACTIONS,
      ),
    )
    .option(
      '--start-at <when>',
      "when to start it: days and a time such as 'Mon-Fri 08:00', or a cron expression; never; default: the server's",
    )
    .option('--stop-at <when>', "when to stop it, in the same form; never; default: the server's")
    .option('--time-zone <zone>', "time zone of both, such as Europe/Berlin; default: the server's")
    .addOption(
      new Option(
        '--rest <how>',
        "how its schedule stops it, where suspending is possible; default: the server's",
      ).choices([...REST_KINDS, DEFAULT]),
    )
}

/** Returns the settings of a request. */
export function settingsBody({
  label,
  wake,
  stopAfter,
  suspendAfter,
  checkpointEvery,
  checkpointKeep,
  checkpointMaxAge,
  expires,
  expireAction,
  startAt,
  stopAt,
  timeZone,
  rest,
}: SettingsOptions) {
  return {
    labels: label,
    wake,
    ...((stopAfter !== undefined || suspendAfter !== undefined) && {
      idle: { stop_after: limitToWire(stopAfter), suspend_after: limitToWire(suspendAfter) },
    }),
    ...((checkpointEvery ?? checkpointKeep ?? checkpointMaxAge) !== undefined && {
      checkpoints: {
        every: limitToWire(checkpointEvery),
        keep: checkpointKeep,
        max_age: limitToWire(checkpointMaxAge),
      },
    }),
    ...expires,
    expire_action: expireAction,
    ...((startAt ?? stopAt ?? timeZone ?? rest) !== undefined && {
      schedule: {
        start: limitToWire(startAt),
        stop: limitToWire(stopAt),
        time_zone: limitToWire(timeZone),
        rest: limitToWire(rest),
      },
    }),
  }
}

function limitToWire(limit: string | undefined): string | null | undefined {
  return limit === DEFAULT ? null : limit
}

/** Commander replaces null by an empty text, so that the default has a name until it is sent. */
function idleLimit(text: string): string {
  if (text === NO_LIMIT || text === '0') return '0'
  if (text === DEFAULT || parseDuration(text) !== undefined) return text
  throw new InvalidArgumentError(`It must be a duration such as 2h, "${NO_LIMIT}" or "${DEFAULT}".`)
}

function expiry(text: string): SettingsExpiry {
  if (text === NO_LIMIT) return { ttl_s: 0 }
  const ms = parseDuration(text)
  if (ms !== undefined && ms > 0) return { ttl_s: Math.ceil(ms / 1_000) }
  if (/^\d{4}-/.test(text)) return { expires_at: text }
  throw new InvalidArgumentError(
    `It must be a duration such as 7d, a time such as 2027-01-31T18:00:00Z, or "${NO_LIMIT}".`,
  )
}

/** Returns the body of the request that creates a workspace. */
export function createBody(name: string, options: CreateOptions, server: ServerAddress): object {
  const { localDir, memoryMb, upperSize, repo, image, backend, cpus, provision, dotfiles, fromSnapshot } =
    options
  const { template, egress, egressProfile, hostPorts } = options
  const renamed = {
    local_dir: localDir === undefined ? undefined : directoryFor(server, localDir),
    from_snapshot: fromSnapshot,
    memory_mb: memoryMb,
    upper_size_bytes: upperSize === undefined ? undefined : upperSize * 2 ** 30,
    ...(!provision && { no_provision: true }),
    ...((egress ?? egressProfile ?? hostPorts) !== undefined && {
      network: { egress, egress_profile: egressProfile, allow_host_ports: hostPorts },
    }),
  }
  return { name, template, repo, image, backend, cpus, dotfiles, ...settingsBody(options), ...renamed }
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
