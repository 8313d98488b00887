import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { serveSerial } from '../../../src/lib/mux/serial.ts'
import { SERIAL_SOCKET } from '../../../src/workspace/backend/microvm/guest/guest-line.ts'
import { readHostBoot } from '../../../src/workspace/backend/microvm/files/host-boot.ts'
import { MachineFiles } from '../../../src/workspace/backend/microvm/files/machine-files.ts'
import { identify } from '../../../src/workspace/backend/microvm/monitor/machine-process.ts'
import { SocketDirs } from '../../../src/workspace/backend/microvm/guest/socket-dir.ts'
import { newMetadata } from '../../../src/workspace/backend/microvm/plan-machine.ts'
import { backendCreate } from '../workspace/backend/backend-create.ts'

/** The token by which the bus knows this machine's agent. */
export const HOSTILE_TOKEN = 'the-token-of-a-hostile-agent'

const ID = '0badc0de'

/** A running machine as a server finds it at its start, whose guest's end of the line is the attacker's. */
export interface HostileMachine {
  readonly name: string
  /** Settings that make a server take the machine over. */
  readonly settings: Readonly<Record<string, string>>
  readonly consoleLog: string
  /** Directory of the machine's sockets, in which the server listens for connections of the guest. */
  readonly socketDir: string
  /** Hands over sessions from the next one on. A session carries frames of `Mux`. */
  readonly onSession: (attack: (session: Duplex) => void) => void
  /** Cuts the line; the server connects again and begins a session. */
  readonly cut: () => void
  /** The line itself, below sessions; undefined while the server is not connected. */
  readonly line: () => Socket | undefined
  readonly remove: () => void
}

/**
 * Writes down a QEMU machine with a serial line as an earlier server leaves it, so that everything from the line on is the product and
 * nothing has to boot. The attacker's end is in this process; a sleeping program passes for the monitor.
 */
export async function plantHostileMachine(name: string): Promise<HostileMachine> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'machines-')))
  const runDir = mkdtempSync('/tmp/vm-')
  const monitor = spawn('sleep', ['100000'], { stdio: 'ignore' })
  const process = await identify(monitor.pid ?? 0)
  if (process === undefined) throw new Error('sleep cannot be started')
  const socketDir = await new SocketDirs(runDir).create(ID)
  const files = new MachineFiles(root)
  mkdirSync(files.instanceOf(name), { recursive: true })
  mkdirSync(join(root, 'uppers', name), { recursive: true })
  for (const file of [files.upperOf(name), files.consoleOf(name), files.monitorLogOf(name)])
    writeFileSync(file, '')
  const defaults = { cpus: 1, memoryMb: 512, upperBytes: 2 ** 30 }
  await files.write({
    ...newMetadata(
      backendCreate(name, 'hostile:1', { createdAt: new Date() }),
      `sha256:${'0'.repeat(64)}`,
      defaults,
    ),
    id: ID,
    isFormatted: true,
    run: {
      hostBoot: await readHostBoot(),
      processes: [process],
      line: 'serial',
      isReady: true,
      ipAddress: '',
      agentToken: HOSTILE_TOKEN,
      consoleStart: 0,
    },
  })
  let attack: (session: Duplex) => void = () => undefined
  const lines = new Set<Socket>()
  const server = createServer((line) => {
    lines.add(line.on('error', () => undefined))
    line.once('close', () => lines.delete(line))
    serveSerial(line, 'second', (session) => attack(session.on('error', () => undefined)))
  })
  await new Promise<void>((resolve) => server.listen(join(socketDir, SERIAL_SOCKET), resolve))
  return {
    name,
    socketDir,
    settings: {
      WORKSPACE_ENABLED_BACKENDS: 'docker,qemu',
      WORKSPACE_VM__RUN_DIR: runDir,
      WORKSPACE_VM__NETWORK: 'none',
      WORKSPACE_QEMU__ROOT: root,
    },
    consoleLog: files.consoleOf(name),
    onSession(next) {
      attack = next
    },
    cut() {
      for (const line of lines) line.destroy()
    },
    line: () => [...lines].at(-1),
    remove() {
      server.close()
      for (const line of lines) line.destroy()
      end(monitor)
      for (const path of [root, runDir]) rmSync(path, { recursive: true, force: true })
    },
  }
}

function end(monitor: ChildProcess): void {
  monitor.kill('SIGKILL')
}
