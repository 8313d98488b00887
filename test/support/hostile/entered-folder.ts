import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileCache } from '../compile-cache.ts'
import type { HOSTILE_FOLDERS } from './hostile-folders.ts'
import { makeTempDir } from '../temp-dir.ts'

const CHILD = fileURLToPath(new URL('./client-commands-child.ts', import.meta.url))
/** Time limit for all commands in one folder, since a command could hang. */
export const LIMIT_MS = 90_000

/** The author's server, which records what it receives. */
async function canary() {
  const host = '127.0.0.77'
  let received = ''
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
    })
  }).listen(0, host)
  let connections = 0
  server.on('connection', () => (connections += 1))
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    host,
    port,
    received: () => received,
    connections: () => connections,
    close: () => server.close(),
  }
}

/** A user with secrets whose current folder belongs to the attacker. */
function victim(root: string) {
  const home = join(root, 'home')
  const dir = join(root, 'project')
  const secrets = ['.npmrc', '.supervisor/token', '.vault-token'].map((name) => join(home, name))
  mkdirSync(dir)
  for (const secret of secrets) {
    mkdirSync(dirname(secret), { recursive: true, mode: 0o700 })
    writeFileSync(secret, `SECRET-of-the-user-${'x'.repeat(20)}\n`, { mode: 0o600 })
  }
  const environment = {
    ...compileCache,
    PATH: dirname(process.execPath),
    HOME: home,
    XDG_RUNTIME_DIR: join(home, 'run'),
    XDG_CACHE_HOME: join(home, 'cache'),
    WORKSPACE_URL: `unix://${join(home, 'no.sock')}`,
  }
  return { dir, secrets, marker: join(root, 'executed'), environment }
}

function picture(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const { mode, size, mtimeMs, ino } = lstatSync(join(dir, name))
      return `${name} ${mode} ${size} ${mtimeMs} ${ino}`
    })
    .toSorted()
}

interface Ended {
  readonly words: string
  readonly status: number | 'late'
  readonly ms: number
}

/** Runs every client command there; `unfinished` is the one that never exited. */
async function runAll(dir: string, environment: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, ['--max-old-space-size=512', CHILD], {
    cwd: dir,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()))
  const [status, signal] = await once(child, 'close')
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Ended | { began: string })
  const ended = lines.flatMap((line) => ('words' in line ? [line] : []))
  const last = lines.at(-1)
  const unfinished =
    last !== undefined && 'began' in last ? `${last.began}: ${signal ?? status} ${errors}` : undefined
  return { ended, unfinished }
}

/** Runs every client command as a user in a hostile folder, and returns the outcome and all harm done. */
export async function enterFolder(
  fill: (typeof HOSTILE_FOLDERS)[number][1],
): Promise<{ readonly ended: readonly Ended[]; readonly harm: readonly string[] }> {
  const root = makeTempDir()
  const evil = await canary()
  try {
    const user = victim(root.path)
    fill({ ...user, ...evil })
    const before = picture(user.dir)
    const { ended, unfinished } = await runAll(user.dir, user.environment)
    const late = ended.filter(({ status }) => status === 'late').map(({ words }) => `${words} waited`)
    const harm = [
      ...(evil.received() === '' ? [] : [`the author was sent ${JSON.stringify(evil.received())}`]),
      ...(evil.connections() === 0 ? [] : [`${evil.connections()} connections to the author`]),
      ...(unfinished === undefined ? [] : [`unfinished: ${unfinished}`]),
      ...late,
      ...(existsSync(user.marker) ? ['something of the folder was run'] : []),
      ...(picture(user.dir).join() === before.join() ? [] : ['the folder was written to']),
    ]
    return { ended, harm }
  } finally {
    evil.close()
    root.remove()
  }
}
