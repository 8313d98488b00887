import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { Fault } from '../../../lib/errors/fault.ts'
import { createLogger, type LogOptions } from '../../../lib/log/logger.ts'
import type { BackendAccess } from '../../backend/backend.ts'
import { DockerBackend } from '../../backend/docker/docker-backend.ts'
import { MountedSocketDirs } from '../../backend/docker/exec/mounted-socket-dirs.ts'
import { GuestClient } from '../../backend/microvm/guest/guest-client.ts'
import { MachineFiles } from '../../backend/microvm/files/machine-files.ts'
import { reachMachine } from '../../backend/microvm/guest/reach-machine.ts'
import { SocketDirs } from '../../backend/microvm/guest/socket-dir.ts'
import { fault } from '../../errors.ts'
import type { BackendName } from '../../backend-name.ts'
import { anyKey, listedKeys } from './authorized-keys.ts'
import { createGcTrigger } from './gc-trigger.ts'
import { ConnectionServer } from './connection-server.ts'
import type { ResolveResult, WorkerCommand, WorkerReport, WorkerSettings } from './ssh-worker-protocol.ts'
import type { LoginName, WorkspaceAccess } from './workspace-resolver.ts'

// A process that speaks SSH for the server: encryption keeps a thread busy, so it runs outside the server's process.

const requests = new Map<number, (result: ResolveResult) => void>()
const drops = new Map<number, () => void>()
const started = Promise.withResolvers<ConnectionServer>()
const noteClosed = createGcTrigger()
let lastRequest = 0

process.on('message', (command: WorkerCommand, socket?: Socket) => {
  switch (command.do) {
    case 'start':
      void start(command.settings).then(started.resolve, started.reject)
      break
    case 'serve':
      report({ is: 'received', connection: command.connection })
      void started.promise.then((server) => serve(server, command.connection, socket))
      break
    case 'drop':
      drops.get(command.connection)?.()
      break
    case 'resolved':
      requests.get(command.request)?.(command.result)
      requests.delete(command.request)
      break
    case 'stop':
      void started.promise.then((server) => server.stop()).finally(() => process.exit(0))
      break
  }
})
// Without the server, nothing can decide who may enter.
process.on('disconnect', () => process.exit(0))
// A terminal signals the whole process group; the server decides when this process exits.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

async function start(settings: WorkerSettings): Promise<ConnectionServer> {
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      report({ is: 'log', line: chunk.toString() })
      done()
    },
  })
  const level = settings.logLevel as LogOptions['level']
  const docker = new DockerBackend({
    ...settings.docker,
    serverId: settings.serverId,
    mountedSocketDirs: MountedSocketDirs.use(settings.mountedSocketDirs),
  })
  await docker.open(() => undefined)
  const backends = new Map<BackendName, BackendAccess>([['docker', docker]])
  for (const { backend, root, runDir } of settings.machines)
    backends.set(backend, new GuestClient(reachMachine(new MachineFiles(root), new SocketDirs(runDir))))
  if (settings.kubernetes !== undefined) backends.set('kubernetes', await podClient(settings.kubernetes))
  return new ConnectionServer({
    privateKey: settings.privateKey,
    resolver: (login) => enter(login, backends),
    deniedPorts: settings.deniedPorts,
    keyRule: settings.authorizedKeys === undefined ? anyKey : listedKeys(settings.authorizedKeys),
    logger: createLogger({ level, format: 'json', destination }),
  })
}

/** Loaded only where a cluster is configured. */
async function podClient({
  kubeconfig,
  namespace,
}: NonNullable<WorkerSettings['kubernetes']>): Promise<BackendAccess> {
  const { ApiClient } = await import('../../backend/kubernetes/api/api-client.ts')
  const { clusterAccess } = await import('../../backend/kubernetes/api/cluster-access.ts')
  const { PodReach } = await import('../../backend/kubernetes/pod-reach.ts')
  const client = new ApiClient(await clusterAccess(kubeconfig))
  return new GuestClient(new PodReach(client, namespace).reach)
}

function serve(server: ConnectionServer, connection: number, socket: Socket | undefined): void {
  // The client may disconnect before its socket arrives here.
  if (socket === undefined) return report({ is: 'closed', connection })
  const drop = server.admit(socket, {
    onProven: (login) => report({ is: 'proven', connection, login }),
    onRefused: (refusal) => report({ is: 'refused', connection, refusal }),
    onEntry: (code) => report({ is: 'entry', connection, code }),
    onClosed: () => {
      drops.delete(connection)
      report({ is: 'closed', connection })
      noteClosed()
    },
  })
  drops.set(connection, drop)
}

async function enter(
  login: LoginName,
  backends: ReadonlyMap<BackendName, BackendAccess>,
): Promise<WorkspaceAccess> {
  const request = ++lastRequest
  const resolved = Promise.withResolvers<ResolveResult>()
  requests.set(request, resolved.resolve)
  report({ is: 'resolve', request, login })
  const result = await resolved.promise
  if (result.is === 'failed') throw new Fault(result.code, result.kind, result.message)
  const backend = backends.get(result.backend)
  if (backend !== undefined) return { backend, name: result.name }
  throw fault('BACKEND_UNAVAILABLE', `backend ${result.backend} is not available over SSH`)
}

function report(message: WorkerReport): void {
  // With a callback, a closed channel emits no error event.
  process.send?.(message, undefined, undefined, () => undefined)
}
