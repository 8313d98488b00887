import { availableParallelism, hostname, totalmem } from 'node:os'
import { join } from 'node:path'
import { Type } from '../lib/schema/type.ts'
import type { Decoded } from '../lib/config/decode.ts'
import { configFault } from '../lib/config/check.ts'
import { loadConfig } from '../lib/config/load.ts'
import { networksMistake } from '../lib/http/proxy/client-address.ts'
import {
  duration,
  flag,
  named,
  optionalSection,
  optionalText,
  port,
  section,
  text,
  texts,
} from '../lib/config/fields.ts'
import { LOG_FORMATS, LOG_LEVELS } from '../lib/log/levels.ts'
import { NETWORK_MODES } from './backend/microvm/network/network.ts'
import { ACCELERATORS } from './backend/qemu/accelerator.ts'
import { kubernetesSection } from './backend/kubernetes/kubernetes-section.ts'
import { auditSection, auditSettings } from './audit/settings.ts'
import { busSection, busSettings } from './bus/settings.ts'
import { extensionSettings, extensionsSection } from './bus/extensions.ts'
import { cloudSection, cloudSettings } from './credentials/settings.ts'
import { defaultRunDir, defaultStateDir, localUrl } from './default-paths.ts'
import { egressSection, egressSettings } from './egress/settings.ts'
import { networkPolicy, networkSection } from './network/policy.ts'
import { pruneSchedule, pruneSection } from './disk/prune/settings.ts'
import { configuredTemplates, templatesSection } from './lifecycle/template.ts'
import { reachOf } from './network/reach.ts'
import { configuredSchedule, scheduleFields } from './schedule.ts'
import { BUS_TOKEN_FILE, KEYS_FILE, TEAM_KEYS_FILE, TOKEN_FILE } from './state-dir.ts'
import { teamSection, teamSettings } from './team/settings.ts'
import { BACKEND_NAMES } from './backend-name.ts'
import { BASE_IMAGE } from './workspace.ts'
import type { BackendName } from './backend-name.ts'

const backend = (value: BackendName, description: string) =>
  Type.Enum(BACKEND_NAMES, { default: value, description })

/** Schema of the server's config file. */
export const workspaceSchema = section({
  name: text(hostname(), 'name of this server, reported by GET /api/info'),
  state_dir: optionalText(
    "directory of the server's host key and state; default /var/lib/workspace for root, else ~/.local/share/workspace",
  ),
  hardened: flag(
    false,
    "for hosts shared with other users: the API requires a token, SSH the keys of the server's user, and the bus and the credentials inside VMs require separate tokens",
  ),
  http: section({
    host: text('127.0.0.1', 'address the API listens on'),
    port: port(8080, 'port the API listens on'),
    allowed_hosts: texts('additional host names that the API accepts; "*" for all'),
    trusted_proxies: texts(
      'addresses and networks of proxies whose X-Forwarded headers are passed on to workspace ports',
    ),
    ports_domain: optionalText(
      'domain below which each workspace port has its own host name, such as 3000--demo.DOMAIN; *.DOMAIN must resolve to this server, and DOMAIN should be on the public suffix list. Not needed for browsers on this machine',
    ),
    token_file: optionalText('file with the bearer token that every request must carry'),
    socket: optionalText('Unix socket to listen on instead of host and port'),
    tls: optionalSection({
      cert: Type.String({ minLength: 1, description: 'PEM file with the certificate chain' }),
      key: Type.String({ minLength: 1, description: 'PEM file with the private key' }),
    }),
  }),
  ssh: section({
    host: text('127.0.0.1', 'address the SSH server listens on'),
    port: port(2222, 'port the SSH server listens on'),
    host_key: optionalText('file of the Ed25519 host key; default ssh_host_ed25519_key in state_dir'),
    authorized_keys: optionalText('file of the public keys that may log in; default any key'),
    processes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 64,
        description:
          'number of SSH worker processes; 0 serves SSH in the server process; default one per processor, at most 4',
      }),
    ),
  }),
  default_backend: backend('docker', 'backend of workspaces created without one'),
  enabled_backends: Type.Array(Type.Enum(BACKEND_NAMES), {
    default: ['docker'],
    description: 'backends to offer; a backend whose engine does not respond is not reported as enabled',
  }),
  default_image: text(BASE_IMAGE, 'image of workspaces created without one'),
  image_aliases: named(Type.String(), 'short names for images'),
  templates: templatesSection,
  dotfiles: optionalText(
    'repository that sets up the home directory of workspaces created without one; must not contain a password',
  ),
  idle_timeout: duration('0s', 'stop a running workspace after this idle time; 0s: never'),
  idle: section({
    suspend_after: duration(
      '0s',
      'suspend a running workspace after this idle time, where its memory can be saved; 0s: never. idle_timeout then applies to the others',
    ),
    wake: Type.Optional(
      Type.Boolean({
        description:
          'start a stopped or suspended workspace when somebody connects to it; default true if suspend_after is set',
      }),
    ),
  }),
  schedule: section(scheduleFields),
  tunnel: section({
    deny_ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
      default: [],
      description: 'ports inside workspaces that Connect and SSH forwarding refuse',
    }),
  }),
  bus: busSection,
  extensions: extensionsSection,
  cloud: cloudSection,
  server: section({
    url: optionalText('URL of this server for host extensions; default derived from http'),
  }),
  audit: auditSection,
  upper_size_default: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 5,
    description: 'default disk size of a VM, in GB',
  }),
  import_size_max: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 100,
    description: 'largest archive that can be imported, uncompressed, in GB',
  }),
  network: networkSection,
  egress: egressSection,
  vm: section({
    network: Type.Enum(NETWORK_MODES, {
      default: 'auto',
      description:
        'how VMs are connected: tap (a bridge on the host, requires root), user (through passt, without root), none; auto: tap for root, else user',
    }),
    cpus: Type.Integer({
      minimum: 1,
      maximum: 32,
      default: 2,
      description: 'default number of CPUs of a VM',
    }),
    memory_mb: Type.Integer({
      minimum: 128,
      default: 2048,
      description: 'default memory of a VM, in MiB',
    }),
    boot_timeout: duration(
      '3m',
      'how long the console of a booting VM may be silent; a boot may take at most five times as long',
    ),
    run_dir: optionalText(
      "directory of the VMs' sockets, which must be a short path; default /run/workspace-vm for root, else workspace-vm in XDG_RUNTIME_DIR",
    ),
  }),
  qemu: section({
    root: optionalText(
      'directory of the images, disks and metadata of qemu workspaces; default qemu in state_dir',
    ),
    binary: text('qemu-system-x86_64', 'name or path of QEMU'),
    accel: Type.Enum(ACCELERATORS, {
      default: 'auto',
      description: 'how guest code is executed: kvm, tcg (emulated), or auto: kvm if available',
    }),
    vhost_device_vsock: optionalText(
      'path of vhost-device-vsock; default the one in PATH or built by scripts/setup; a serial port is used without it',
    ),
    virtiofsd: optionalText(
      "path of virtiofsd, which shares local_dir; default QEMU's own or the one in PATH",
    ),
  }),
  docker: section({
    host: optionalText(
      'engine address, unix:///… or tcp://host:port; default DOCKER_HOST, else a well-known socket',
    ),
    network: optionalText(
      "network that workspaces join instead of the server's isolated one; that network then determines what they can reach",
    ),
    pids_limit: Type.Integer({
      minimum: 16,
      maximum: 4_194_304,
      default: 4_096,
      description: 'maximum number of processes and threads in a container',
    }),
    memory_mb: Type.Optional(
      Type.Integer({
        minimum: 6,
        description: "default memory of a container, in MiB; default nine tenths of the host's",
      }),
    ),
    no_new_privileges: flag(
      false,
      'prevent programs in containers from gaining privileges through setuid files; disables sudo',
    ),
    runtime: optionalText(
      "container runtime by the engine's name for it, such as runsc or kata; default the engine's own",
    ),
    userns_mode: optionalText(
      "user namespace of containers by the engine's name for it, such as Podman's auto; default the engine's own, which userns-remap sets for Docker",
    ),
    cap_add: texts(
      'additional capabilities of containers; net_raw, which tcpdump needs, lets a container spoof other addresses',
    ),
  }),
  firecracker: section({
    root: optionalText(
      'directory of the images, disks and metadata of firecracker workspaces; default firecracker in state_dir',
    ),
    binary: text('firecracker', 'name or path of Firecracker'),
    jailer: optionalText("name or path of Firecracker's jailer, which isolates each VM's monitor"),
  }),
  vz: section({
    root: optionalText(
      'directory of the images, disks and metadata of vz workspaces; default vz in state_dir',
    ),
    vfkit: text('vfkit', 'name or path of vfkit'),
  }),
  kubernetes: kubernetesSection,
  image: section({
    kernel: optionalText('kernel for VM images without one; default the newest in /boot'),
    modules: optionalText("directory of that kernel's modules; default /lib/modules/<release>"),
  }),
  e2b: section({
    enabled: flag(
      false,
      "serve E2B's API below /e2b and on its host names, so that programs written for E2B's SDKs run on this server",
    ),
  }),
  team: teamSection,
  prune: pruneSection,
  log: section({
    level: Type.Enum(LOG_LEVELS, { default: 'info', description: 'minimum severity that is logged' }),
    format: Type.Enum(LOG_FORMATS, {
      default: 'auto',
      description: 'log format; auto: pretty on a terminal, JSON elsewhere',
    }),
  }),
})

/** The server's effective configuration. */
export type WorkspaceConfig = ReturnType<typeof resolveConfig>

const sources = {
  program: 'workspace',
  fileVariable: 'WORKSPACE_CONFIG',
  environmentPrefix: 'WORKSPACE',
  schema: workspaceSchema,
} as const

/** Loads the server's configuration: defaults, then one file, then the environment, then flags. */
export function loadWorkspaceConfig(
  environment: Readonly<Record<string, string | undefined>>,
  given: { readonly file?: string | undefined; readonly flags?: Readonly<Record<string, unknown>> } = {},
): { readonly config: WorkspaceConfig; readonly settings: unknown; readonly file: string | undefined } {
  const { settings, decoded, file } = loadConfig({ ...sources, environment, ...given })
  return { config: resolveConfig(decoded, environment), settings, file }
}

/** Fills in defaults that depend on the machine, the user or other settings. */
function resolveConfig(
  settings: Decoded<typeof workspaceSchema>,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const { http, docker, vm, qemu, firecracker, vz, hardened, idle } = settings
  const mistake = networksMistake('http.trusted_proxies', http.trustedProxies)
  if (mistake !== undefined) throw configFault('CONFIG_INVALID', mistake)
  const stateDir = settings.stateDir ?? defaultStateDir(environment)
  const imageAliases = new Map(Object.entries(settings.imageAliases))
  const network = networkPolicy(settings.network)
  const egress = egressSettings(settings.egress, environment)
  const team = teamSettings(settings)
  const tokenFile = http.tokenFile ?? (hardened || team.enabled ? join(stateDir, TOKEN_FILE) : undefined)
  return {
    ...settings,
    stateDir,
    http: { ...http, tokenFile },
    schedule: configuredSchedule(settings.schedule),
    idle: { ...idle, wake: idle.wake ?? (idle.suspendAfterMs > 0 ? true : undefined) },
    ssh: sshSettings(settings, stateDir),
    imageAliases,
    templates: configuredTemplates(settings.templates, {
      imageAliases,
      defaultBackend: settings.defaultBackend,
      reachOf: (name) => reachOf(name, { network, docker, vm, egress }),
    }),
    audit: auditSettings(settings.audit),
    bus: busSettings(settings.bus, hardened ? join(stateDir, BUS_TOKEN_FILE) : undefined),
    extensions: extensionSettings(settings.extensions),
    cloud: cloudSettings(settings.cloud),
    server: { url: settings.server.url ?? localUrl(http), tokenFile },
    upperSizeDefaultBytes: settings.upperSizeDefault * 2 ** 30,
    importMaxBytes: settings.importSizeMax * 2 ** 30,
    network,
    egress,
    team,
    vm: { ...vm, runDir: vm.runDir ?? defaultRunDir(environment) },
    qemu: { ...qemu, root: qemu.root ?? join(stateDir, 'qemu') },
    docker: {
      ...docker,
      host: docker.host ?? environment['DOCKER_HOST'],
      memoryMb: docker.memoryMb ?? Math.floor((totalmem() / 2 ** 20) * 0.9),
    },
    firecracker: { ...firecracker, root: firecracker.root ?? join(stateDir, 'firecracker') },
    vz: { ...vz, root: vz.root ?? join(stateDir, 'vz') },
    prune: pruneSchedule(settings.prune),
  }
}

function sshSettings({ ssh, hardened, team }: Decoded<typeof workspaceSchema>, stateDir: string) {
  const defaultKeys = hardened ? join(stateDir, KEYS_FILE) : undefined
  return {
    ...ssh,
    hostKey: ssh.hostKey ?? join(stateDir, 'ssh_host_ed25519_key'),
    authorizedKeys: team.enabled ? join(stateDir, TEAM_KEYS_FILE) : (ssh.authorizedKeys ?? defaultKeys),
    processes: ssh.processes ?? Math.min(4, availableParallelism()),
  }
}
