// The agent inside a pod of a cluster, which serves requests of the server over mutual TLS: only the server has the key
// to the certificate that this start of the pod accepts. Started by an init container's copy of Node.js, so that any
// image works.
import { chownSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:tls'
import { setTimeout as delay } from 'node:timers/promises'
import { AGENT_PORT, POD_AGENT_KEYS } from '../../src/lib/guest/protocol.ts'
import { noticeLoss } from '../../src/lib/connection/notice-loss.ts'
import { addToEnvironment, workspaceUser } from './image-config.ts'
import { serve } from './serve.ts'

const WORKSPACE_DIR = '/workspace'
/** Shorter than the pod's grace period, after which everything is killed. */
const GRACE_MS = 8_000
const LOOK_EVERY_MS = 50
/** Variables of the cluster rather than the image. */
const FOREIGN = /^(?:KUBERNETES_|HOSTNAME$|HOME$|PWD$)/

// An error affects only its connection.
process.on('uncaughtException', (error) => console.error('workspace-agent:', error))
process.on('SIGHUP', () => undefined)
process.once('SIGTERM', () => void stop())

const image = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name))
addToEnvironment(Object.fromEntries(image) as Record<string, string>)
giveWorkspace()
const read = (name: string): string => readFileSync(`${POD_AGENT_KEYS.directory}/${name}`, 'utf8')
createServer(
  {
    cert: read(POD_AGENT_KEYS.certificate),
    key: read(POD_AGENT_KEYS.key),
    ca: read(POD_AGENT_KEYS.client),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    noDelay: true,
  },
  (socket) => {
    noticeLoss(socket)
    void serve(socket)
  },
)
  .on('tlsClientError', () => undefined)
  .listen(AGENT_PORT)

/** Gives a new volume, which belongs to root, to the workspace's user. */
function giveWorkspace(): void {
  const { uid, gid } = workspaceUser()
  if (uid !== 0 && statSync(WORKSPACE_DIR).uid === 0) chownSync(WORKSPACE_DIR, uid, gid)
}

/** Lets all programs of the pod exit, and then exits; the pod's own first process ignores the signal of another. */
async function stop(): Promise<void> {
  const endMs = performance.now() + GRACE_MS
  signalAll('SIGTERM')
  signalAll('SIGCONT')
  while (hasPrograms() && performance.now() < endMs) await delay(LOOK_EVERY_MS)
  process.exit(0)
}

/** Signals every process of the pod except this one and the first. */
function signalAll(name: NodeJS.Signals): void {
  for (const id of programs()) {
    try {
      process.kill(id, name)
    } catch {
      // It has exited meanwhile.
    }
  }
}

function hasPrograms(): boolean {
  return programs().some((id) => {
    try {
      // The first process reaps those that have exited.
      return !/^State:\tZ/m.test(readFileSync(`/proc/${id}/status`, 'utf8'))
    } catch {
      return false
    }
  })
}

function programs(): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((id) => id > 1 && id !== process.pid)
}
