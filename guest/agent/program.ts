import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { GuestProgram } from '../../src/lib/guest/protocol.ts'
import { arrived, streamOnNext } from '../../src/lib/process/descriptor-stream.ts'
import { makePipe } from '../../src/native/programs/pipe.ts'
import { openPty, type Pty } from '../../src/native/programs/pty.ts'
import { findStarter } from '../../src/native/programs/starter.ts'
import { GuestFailure } from './failure.ts'
import { imageEnvironment, workspaceDirectory, workspaceUser } from './image-config.ts'
import { findUser, type User } from './users.ts'

const CAPACITY_BYTES = 256 * 1024
const TERMINAL_MS = 10

/** A program started by the agent. */
export interface Program {
  readonly stdin: Writable | undefined
  /** One for a terminal, otherwise standard output and standard error. */
  readonly outputs: readonly Readable[]
  /** Resolves with the exit status once the program has exited and its output has been read. */
  readonly ended: Promise<{ readonly status: number; readonly signal?: string }>
  readonly signal: (name: string) => void
  readonly resize: (columns: number, rows: number) => void
  readonly hangUp: () => void
}

/** Starts a program as a user of this machine. @throws GuestFailure when it cannot be started */
export function startProgram(request: GuestProgram): Program {
  const user = request.user === undefined ? workspaceUser() : findUser(request.user)
  if (user === undefined) throw new GuestFailure('NO_SUCH_USER', `there is no user "${request.user}" inside`)
  if (request.argv.length === 0) throw new GuestFailure('BAD_REQUEST', 'argv must name a program')
  return request.terminal === undefined
    ? startWithPipes(request, user)
    : startInTerminal(request, request.terminal, user)
}

function startWithPipes(request: GuestProgram, user: User): Program {
  const theirs: number[] = []
  const ours: number[] = []
  const pipe = (isInput: boolean): number => {
    const { reader, writer } = makePipe(CAPACITY_BYTES)
    theirs.push(isInput ? reader : writer)
    ours.push(isInput ? writer : reader)
    return isInput ? reader : writer
  }
  try {
    const stdio = [request.stdin ? pipe(true) : ('ignore' as const), pipe(false), pipe(false)]
    const child = spawnStarter(request, user, 'pipes', stdio)
    const stdin = request.stdin ? streamOnNext(ours, { writable: true }) : undefined
    const outputs = [streamOnNext(ours, { readable: true }), streamOnNext(ours, { readable: true })]
    return programOf(child, stdin, outputs, undefined)
  } finally {
    for (const fd of [...theirs, ...ours]) closeSync(fd)
  }
}

function startInTerminal(
  request: GuestProgram,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  user: User,
): Program {
  const pty = openPty(columns, rows)
  try {
    const child = spawnStarter(request, user, 'terminal', [pty.far, pty.far, pty.far])
    return programOf(child, pty.stream, [pty.stream], pty)
  } catch (error) {
    pty.close()
    throw error
  } finally {
    closeSync(pty.far)
  }
}

function spawnStarter(
  { argv, environment }: GuestProgram,
  user: User,
  mode: 'pipes' | 'terminal',
  stdio: (number | 'ignore')[],
): ChildProcess {
  const starter = findStarter()
  if (starter === undefined)
    throw new GuestFailure('BROKEN_AGENT', 'workspace-start is missing next to the agent')
  const who = [String(user.uid), String(user.gid), user.groups.join(',') || '-', workspaceDirectory(user)]
  return spawn(starter, ['program', ...who, mode, ...argv], {
    env: { ...imageEnvironment(), HOME: user.home, USER: user.name, LOGNAME: user.name, ...environment },
    stdio,
  })
}

function programOf(
  child: ChildProcess,
  stdin: Writable | undefined,
  outputs: readonly Socket[],
  pty: Pty | undefined,
): Program {
  const exited = new Promise<{ status: number; signal?: string }>((resolve) => {
    child.once('error', () => resolve({ status: 126 }))
    child.once('exit', (code, signal) => {
      if (signal === null) resolve({ status: code ?? 0 })
      else resolve({ status: 128 + constants.signals[signal], signal })
    })
  })
  const isOpen = (): boolean => child.exitCode === null && child.signalCode === null
  const kill = (name: NodeJS.Signals): void => {
    // After the leader exits, its group may have other members; once its output is closed too, the id may be reused.
    const mayBeThere = isOpen() || outputs.some((output) => !output.readableEnded && !output.destroyed)
    if (child.pid === undefined || !mayBeThere) return
    try {
      process.kill(-child.pid, name)
    } catch {
      // It has exited meanwhile.
    }
  }
  return {
    stdin,
    outputs,
    ended: exited.then(async (status) => {
      // The kernel passes a terminal's output on a little later.
      if (pty !== undefined) await delay(TERMINAL_MS)
      await Promise.all(outputs.map(arrived))
      return status
    }),
    signal(name) {
      if (name in constants.signals) kill(name as NodeJS.Signals)
    },
    resize: (columns, rows) => pty?.resize(columns, rows),
    hangUp() {
      kill('SIGHUP')
      // A stopped program must continue to receive it.
      kill('SIGCONT')
      if (pty !== undefined) pty.close()
      stdin?.destroy()
      for (const output of outputs) output.destroy()
    },
  }
}
