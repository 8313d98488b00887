import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { loadAddon, type Addon } from '../../../src/native/load.ts'

/** Targets of an attempt: canaries outside the confinement, and a directory inside. */
export interface Targets {
  /** The user's file and directory that the process has no access to. */
  readonly secret: string
  readonly outside: string
  /** The project's directory, which it can read. */
  readonly project: string
  /** The directory it can write to, or would if it could write at all. */
  readonly cache: string
  /** A listening TCP port, and a listening Unix socket. */
  readonly port: number
  readonly socket: string
  /** PID of the process that started it. */
  readonly parent: number
}

type Attempt = (targets: Targets) => unknown

const GIB = 2 ** 30

/** Connects a socket. */
async function connected(where: { port: number; host: string } | { path: string }): Promise<string> {
  const socket = connect(where)
  await once(socket, 'connect')
  socket.destroy()
  return 'connected'
}

function addon(): Addon {
  const loaded = loadAddon()
  if (loaded.is === 'absent') throw new Error(loaded.reason)
  return loaded.addon
}

/** Starts a program with the addon's vfork and execve. */
function startNatively(program: string): string {
  const output = openSync('/dev/null', 'w')
  const pid = addon().spawnProgram([program], [], '/', output, output, null, [], '', false)
  return `process ${pid}`
}

function started(program: string, argv: readonly string[] = []): string {
  const { error, status } = spawnSync(program, argv)
  if (error !== undefined) throw error
  return `it ended with ${status}`
}

async function inThread(code: string): Promise<unknown> {
  const worker = new Worker(`require('node:worker_threads').parentPort.postMessage(${code})`, { eval: true })
  const [answer] = (await once(worker, 'message')) as [unknown]
  return answer
}

/** Allocates as much memory as possible and returns the amount in bytes. */
function allocated(most: number): number {
  const held: Buffer[] = []
  while (held.length * 2 ** 26 < most) held.push(Buffer.alloc(2 ** 26, 1))
  return held.length * 2 ** 26
}

/**
 * Attempts of code that has taken over a reading process, by name. Each throws or terminates its process if it is refused, and
 * returns a value if it succeeds.
 */
export const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'connect to a port of the loopback address': ({ port }) => connected({ port, host: '127.0.0.1' }),
  'connect to a port by IPv6': ({ port }) => connected({ port, host: '::ffff:127.0.0.1' }),
  'connect to a Unix socket': ({ socket }) => connected({ path: socket }),
  'listen on a port': async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    server.close()
    return 'listening'
  },
  'start a program': () => started('/bin/true'),
  'start another Node': () => started(process.execPath, ['--version']),
  'start a program natively': () => startNatively('/bin/true'),
  'open a pseudo terminal': () =>
    addon()
      .openPty(80, 24)
      .map((fd) => closeSync(fd)),
  'fork without end': () => {
    for (let count = 0; count < 16; count++) startNatively('/bin/true')
    return '16 processes'
  },
  'read a file': ({ secret }) => readFileSync(secret, 'utf8'),
  'read a file in a thread of Node': ({ secret }) => promises.readFile(secret, 'utf8'),
  'read a file in a separate thread': ({ secret }) =>
    inThread(`require('node:fs').readFileSync(${JSON.stringify(secret)}, 'utf8')`),
  'read a file behind its own root': ({ secret }) => readFileSync(`/proc/self/root${secret}`, 'utf8'),
  'read a file by a link in the cache': ({ secret, cache }) => {
    symlinkSync(secret, join(cache, 'link'))
    return readFileSync(join(cache, 'link'), 'utf8')
  },
  'read a file by a second name in the cache': ({ secret, cache }) => {
    linkSync(secret, join(cache, 'name'))
    return readFileSync(join(cache, 'name'), 'utf8')
  },
  'move a file into the cache': ({ outside, cache }) => {
    writeOrFind(join(outside, 'moved'))
    renameSync(join(outside, 'moved'), join(cache, 'moved'))
    return 'moved'
  },
  'list a directory': ({ outside }) => readdirSync(outside).join(' '),
  'read the environment of the server': ({ parent }) => readFileSync(`/proc/${parent}/environ`, 'latin1'),
  'read the memory layout of the server': ({ parent }) => readFileSync(`/proc/${parent}/maps`, 'utf8'),
  'read a token from its own environment': () => {
    const token = process.env['CANARY_TOKEN']
    if (token === undefined) throw new Error('there is none')
    return token
  },
  'write a file': ({ outside }) => writeFileSync(join(outside, 'written'), 'x'),
  'write beside the cache': ({ cache }) => writeFileSync(`${cache}-beside`, 'x'),
  'write to a file that is there': ({ secret }) => writeFileSync(secret, 'x', { flag: 'r+' }),
  'shorten a file': ({ outside }) => {
    const file = openSync(join(outside, 'kept'), 'r+')
    ftruncateSync(file, 0)
  },
  'remove a file': ({ outside }) => rmSync(join(outside, 'removed')),
  'change the mode of a file': ({ secret }) => chmodSync(secret, 0o666),
  'change the times of a file': ({ secret }) => utimesSync(secret, 1, 1),
  'signal the server': ({ parent }) => process.kill(parent, 0),
  'signal its process group': () => process.kill(0, 0),
  'open a device': () => closeSync(openSync('/dev/full', 'r')),
}

/** Operations that a reading process needs, by name; each returns a value. */
export const NEEDS: Readonly<Record<string, Attempt>> = {
  'read a file of the project': ({ project }) => readFileSync(join(project, 'A.class')),
  'read a system library': () => readdirSync('/usr/lib'),
  'start a thread': () => inThread('1'),
}

/** Operations that a writing process needs. */
export const WRITER_NEEDS: Readonly<Record<string, Attempt>> = {
  'write, rename and remove files in the cache': ({ cache }) => {
    mkdirSync(join(cache, 'own'))
    writeFileSync(join(cache, 'own/a'), 'x')
    renameSync(join(cache, 'own/a'), join(cache, 'own/b'))
    rmSync(join(cache, 'own'), { recursive: true })
  },
}

/** Attempts that would block the machine if not refused; only for confined processes. */
export const EXCESSES: Readonly<Record<string, Attempt>> = {
  'write a huge file': ({ cache }) => {
    const file = openSync(join(cache, 'huge'), 'w')
    ftruncateSync(file, 2 ** 40)
    return '1 TiB'
  },
  'fill the memory': () => `${allocated(4 * GIB) / GIB} GiB`,
  'compute without end': () => {
    const start = processorSeconds()
    while (processorSeconds() < start + 20);
    return '20 s of processor time'
  },
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function writeOrFind(path: string): void {
  try {
    writeFileSync(path, 'x', { flag: 'wx' })
  } catch {
    // The test created it; this process cannot.
  }
}

/** Makes an attempt; runs in the test's processes. */
export async function attempt(name: string, targets: Targets): Promise<string> {
  const make = { ...ATTEMPTS, ...EXCESSES, ...NEEDS, ...WRITER_NEEDS }[name]
  if (make === undefined) throw new Error(`there is no attempt "${name}"`)
  return String(await make(targets)) || 'done'
}
