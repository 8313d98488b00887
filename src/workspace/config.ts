import { availableParallelism, hostname, totalmem } from 'node:os'
import { join } from 'node:path'
import { Type } from '../lib/schema/type.ts'
import type { Decoded } from '../lib/config/decode.ts'
import { loadConfig } from '../lib/config/load.ts'
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
import { busSection, busSettings } from './bus/settings.ts'
import { extensionSettings, extensionsSection } from './bus/extensions.ts'
import { cloudSection, cloudSettings } from './credentials/settings.ts'
import { defaultRunDir, defaultStateDir, localUrl } from './default-places.ts'
import { networkPolicy, networkSection } from './network/policy.ts'
import { pruneSchedule, pruneSection } from './disk/prune/settings.ts'
import { KEYS_FILE, TOKEN_FILE } from './state-dir.ts'
import { BACKEND_NAMES } from './backend-name.ts'
import type { BackendName } from './backend-name.ts'

const backend = (value: BackendName, description: string) =>
  Type.Enum(BACKEND_NAMES, { default: value, description })

/** Every key of the server's config file. */
export const workspaceSchema = section({
  name: text(hostname(), "this server's name, shown by GET /api/info"),
  state_dir: optionalText(
    'where the server keeps its host key and marks; default /var/lib/workspace for root, else ~/.local/share/workspace',
  ),
  hardened: flag(
    false,
    "for a machine that others use as well: the API demands a token, SSH the keys of the server's user, the bus and the credentials inside machines tokens of their own",
  ),
  http: section({
    host: text('127.0.0.1', 'address the API listens on'),
    port: port(8080, 'port the API listens on'),
    allowed_hosts: texts('further host names the API answers to; "*" for all'),
    ports_domain: optionalText(
      'domain below which ports of workspaces have hosts of their own, such as 3000--demo.DOMAIN; *.DOMAIN must resolve to this server, and DOMAIN belongs on the public suffix list. Browsers on this machine need none',
    ),
    token_file: optionalText('file with a bearer token that every request must then carry'),
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
    authorized_keys: optionalText('file of the only public keys that may log in; every key when left out'),
    processes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 64,
        description:
          'child processes that speak SSH; 0 speaks it in the server itself; default one a processor, at most 4',
      }),
    ),
  }),
  default_backend: backend('docker', 'backend of a workspace that names none'),
  enabled_backends: Type.Array(Type.Enum(BACKEND_NAMES), {
    default: ['docker'],
    description: 'backends to offer; one whose engine does not answer is not reported as enabled',
  }),
  default_image: text('workspace-base:1', 'image of a workspace that names none'),
  image_aliases: named(Type.String(), 'short names for images'),
  dotfiles: optionalText(
    'repository that sets up the home directory of a workspace that names none; no password in it',
  ),
  idle_timeout: duration('0s', 'a running workspace that nobody uses for this long is stopped; 0s: never'),
  tunnel: section({
    deny_ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
      default: [],
      description: 'ports inside workspaces that neither Connect nor an SSH forward reaches',
    }),
  }),
  bus: busSection,
  extensions: extensionsSection,
  cloud: cloudSection,
  server: section({
    url: optionalText('where extensions on the host reach this server; default what http says'),
  }),
  audit: section({
    file: optionalText('file to which it is appended who did what; default none'),
  }),
  upper_size_default: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 5,
    description: "size of a virtual machine's own disk when a creation names none, in GB",
  }),
  network: networkSection,
  vm: section({
    network: Type.Enum(NETWORK_MODES, {
      default: 'auto',
      description:
        'how virtual machines are connected: tap (a bridge of the host, needs root), user (by passt, needs no root), none; auto: tap for root, else user',
    }),
    cpus: Type.Integer({
      minimum: 1,
      maximum: 32,
      default: 2,
      description: 'CPUs of a virtual machine when a creation names none',
    }),
    memory_mb: Type.Integer({
      minimum: 128,
      default: 2048,
      description: 'memory of a virtual machine when a creation names none, in MiB',
    }),
    boot_timeout: duration(
      '3m',
      'how long the console of a booting virtual machine may be silent; a boot takes at most five times as long',
    ),
    run_dir: optionalText(
      'where the sockets of virtual machines are, a short path; default /run/workspace-vm for root, else workspace-vm in XDG_RUNTIME_DIR',
    ),
  }),
  qemu: section({
    root: optionalText('where images, disks and metadata of qemu workspaces are; default qemu in state_dir'),
    binary: text('qemu-system-x86_64', 'name or path of QEMU'),
    accel: Type.Enum(ACCELERATORS, {
      default: 'auto',
      description: "what runs the guest's code: kvm, tcg (emulated), or auto: kvm where it can be used",
    }),
    vhost_device_vsock: optionalText(
      'path of vhost-device-vsock; default the one in PATH or that scripts/setup built; without it a serial port is used',
    ),
    virtiofsd: optionalText('path of virtiofsd, which shares local_dir; default the one of QEMU or in PATH'),
  }),
  docker: section({
    host: optionalText(
      'engine address, unix:///… or tcp://host:port; default DOCKER_HOST, else a known socket',
    ),
    network: optionalText(
      "network that workspaces join in place of the server's own isolated one; what they reach is then that network's matter",
    ),
    pids_limit: Type.Integer({
      minimum: 16,
      maximum: 4_194_304,
      default: 4_096,
      description: 'processes and threads that a container may have at once',
    }),
    memory_mb: Type.Optional(
      Type.Integer({
        minimum: 6,
        description:
          "memory of a container when a creation names none, in MiB; default nine tenths of the machine's",
      }),
    ),
    no_new_privileges: flag(
      false,
      'programs in containers gain no privileges by setuid files; sudo does not work then',
    ),
    runtime: optionalText(
      'runtime of containers, as the engine calls it, such as runsc or kata; default its own',
    ),
    userns_mode: optionalText(
      "user namespace of containers, as the engine calls it, such as Podman's auto; default the engine's own, which userns-remap sets for Docker",
    ),
    cap_add: texts(
      'capabilities of containers beside the usual ones; net_raw, which tcpdump needs, lets a container send in the name of others',
    ),
  }),
  firecracker: section({
    root: optionalText('where its images, disks and metadata are; default firecracker in state_dir'),
    binary: text('firecracker', 'name or path of Firecracker'),
    jailer: optionalText("name or path of Firecracker's jailer, which encloses each machine's monitor"),
  }),
  vz: section({
    root: optionalText('where images, disks and metadata of vz workspaces are; default vz in state_dir'),
    vfkit: text('vfkit', 'name or path of vfkit'),
  }),
  image: section({
    kernel: optionalText('kernel of VM images that have none; default the newest in /boot'),
    modules: optionalText('directory of its modules; default /lib/modules/<release>'),
  }),
  prune: pruneSection,
  log: section({
    level: Type.Enum(LOG_LEVELS, { default: 'info', description: 'least severe level logged' }),
    format: Type.Enum(LOG_FORMATS, {
      default: 'auto',
      description: 'auto: pretty on a terminal, JSON elsewhere',
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

/** Reads the server's configuration: defaults, then one file, then the environment, then flags. */
export function loadWorkspaceConfig(
  environment: Readonly<Record<string, string | undefined>>,
  given: { readonly file?: string | undefined; readonly flags?: Readonly<Record<string, unknown>> } = {},
): { readonly config: WorkspaceConfig; readonly settings: unknown; readonly file: string | undefined } {
  const { settings, decoded, file } = loadConfig({ ...sources, environment, ...given })
  return { config: resolveConfig(decoded, environment), settings, file }
}

/** Fills in what depends on the machine, on the user or on other settings. */
function resolveConfig(
  settings: Decoded<typeof workspaceSchema>,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const { http, ssh, docker, vm, qemu, firecracker, vz, hardened } = settings
  const stateDir = settings.stateDir ?? defaultStateDir(environment)
  const tokenFile = http.tokenFile ?? (hardened ? join(stateDir, TOKEN_FILE) : undefined)
  return {
    ...settings,
    stateDir,
    http: { ...http, tokenFile },
    ssh: {
      ...ssh,
      hostKey: ssh.hostKey ?? join(stateDir, 'ssh_host_ed25519_key'),
      authorizedKeys: ssh.authorizedKeys ?? (hardened ? join(stateDir, KEYS_FILE) : undefined),
      processes: ssh.processes ?? Math.min(4, availableParallelism()),
    },
    imageAliases: new Map(Object.entries(settings.imageAliases)),
    bus: busSettings(settings.bus),
    extensions: extensionSettings(settings.extensions),
    cloud: cloudSettings(settings.cloud),
    server: { url: settings.server.url ?? localUrl(http), tokenFile },
    upperSizeDefaultBytes: settings.upperSizeDefault * 2 ** 30,
    network: networkPolicy(settings.network),
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
