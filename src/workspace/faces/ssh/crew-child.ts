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
import { collectOften } from './collect-often.ts'
import { ConnectionServer } from './connection-server.ts'
import type { ChildSettings, Entry, Order, Report } from './crew-protocol.ts'
import type { Entered } from './gate.ts'

// A process that speaks SSH for the server: ciphers keep one thread busy, and so only their own.

const questions = new Map<number, (entry: Entry) => void>()
const drops = new Map<number, () => void>()
const begun = Promise.withResolvers<ConnectionServer>()
const noteClosed = collectOften()
let lastQuestion = 0

process.on('message', (order: Order, socket?: Socket) => {
  switch (order.do) {
    case 'begin':
      void begin(order.settings).then(begun.resolve, begun.reject)
      break
    case 'serve':
      void begun.promise.then((server) => serve(server, order.connection, socket))
      break
    case 'drop':
      drops.get(order.connection)?.()
      break
    case 'entered':
      questions.get(order.question)?.(order.entry)
      questions.delete(order.question)
      break
    case 'stop':
      void begun.promise.then((server) => server.stop()).finally(() => process.exit(0))
      break
  }
})
// The server is gone, and with it what says who may enter.
process.on('disconnect', () => process.exit(0))
// A terminal signals the whole group; when to end is for the server to say.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

async function begin(settings: ChildSettings): Promise<ConnectionServer> {
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      tell({ is: 'log', line: chunk.toString() })
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
  return new ConnectionServer({
    privateKey: settings.privateKey,
    gate: (user) => enter(user, backends),
    deniedPorts: settings.deniedPorts,
    keyRule: settings.authorizedKeys === undefined ? anyKey : listedKeys(settings.authorizedKeys),
    logger: createLogger({ level, format: 'json', destination }),
  })
}

function serve(server: ConnectionServer, connection: number, socket: Socket | undefined): void {
  // The client can be gone before its socket has arrived here.
  if (socket === undefined) return tell({ is: 'closed', connection })
  const drop = server.admit(socket, {
    onProven: (login) => tell({ is: 'proven', connection, login }),
    onRefused: (refusal) => tell({ is: 'refused', connection, refusal }),
    onEntry: (code) => tell({ is: 'entry', connection, code }),
    onClosed: () => {
      drops.delete(connection)
      tell({ is: 'closed', connection })
      noteClosed()
    },
  })
  drops.set(connection, drop)
}

async function enter(user: string, backends: ReadonlyMap<BackendName, BackendAccess>): Promise<Entered> {
  const question = ++lastQuestion
  const answered = Promise.withResolvers<Entry>()
  questions.set(question, answered.resolve)
  tell({ is: 'enter', question, user })
  const entry = await answered.promise
  if (entry.is === 'closed') throw new Fault(entry.code, entry.kind, entry.message)
  const backend = backends.get(entry.backend)
  if (backend !== undefined) return { backend, name: entry.name }
  throw fault('BACKEND_UNAVAILABLE', `backend ${entry.backend} cannot be entered from here`)
}

function tell(report: Report): void {
  // With the callback a closed channel is no error event.
  process.send?.(report, undefined, undefined, () => undefined)
}
