import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { messageOf } from '../../lib/errors/message.ts'
import type { Random } from '../../lib/random/random.ts'
import { ConnectionError, WorkspaceError } from '../client/sdk/errors.ts'
import type { Workspace } from '../client/sdk/workspace.ts'
import { type Clients, REQUEST_LIMIT_MS, requestLimit } from './clients.ts'
import type { Finding } from './compare.ts'
import type { ExpectedWorkspace, Ledger, Operation, Register } from './ledger.ts'
import { APPEND, ECHO_ONCE, FILES_DIR, WRITE_FLUSHED } from './scripts.ts'

const FILE_NAMES = 24
const LABEL_KEYS = 8
const MAX_FILE_BYTES = 256 * 1024
const MAX_TRANSFER_BYTES = 4 * 2 ** 20
const SSH_TEXT_BYTES = 128 * 1024
const [FIRST_PORT, PORTS] = [20_000, 20_000]

/** Dependencies of an actor. */
export interface ActorParts {
  readonly clients: Clients
  readonly ledger: Ledger
  readonly random: Random
  /** Returns a name that no workspace had. */
  readonly nextName: () => string
  readonly report: (finding: Finding) => void
  readonly creationFailed: (why: string) => void
  /** Notes what could not be done here. */
  readonly note: (what: string) => void
}

type Step = (expected: ExpectedWorkspace, workspace: Workspace) => Promise<void>

/**
 * A client that uses one workspace after the other: one random request at a time, each noted with its answer. A file or
 * label is not changed again after a request without an answer, which may still take effect.
 */
export class Actor {
  readonly #parts: ActorParts
  #current: { readonly expected: ExpectedWorkspace; readonly workspace: Workspace | undefined } | undefined
  #steps = 0

  constructor(parts: ActorParts) {
    this.#parts = parts
  }

  /** Sends one request. Resolves to false when no server answered. */
  async step(): Promise<boolean> {
    try {
      await this.#next()
      return true
    } catch (error) {
      if (error instanceof ConnectionError) return false
      if (error instanceof WorkspaceError || error instanceof ProgramFailed) return true
      if (!(error instanceof Error) || error.name !== 'TimeoutError') throw error
      const name = this.#current?.expected.name
      this.#parts.report({
        kind: 'stuck',
        what: `a request to workspace ${name} took over ${REQUEST_LIMIT_MS / 1_000} s`,
      })
      return true
    }
  }

  async #next(): Promise<void> {
    const current = this.#current
    if (current === undefined) return this.#create()
    const { expected, workspace } = current
    if (workspace === undefined || !expected.exists.isSettled) return this.#delete(expected)
    if (!expected.status.isSettled || expected.status.admits('stopped'))
      return this.#start(expected, workspace)
    await this.#pick()(expected, workspace)
  }

  #pick(): Step {
    const steps: readonly (readonly [number, Step])[] = [
      [30, this.#write],
      [4, this.#remove],
      [20, this.#append],
      [14, this.#label],
      [8, this.#read],
      [8, this.#transfer],
      [8, this.#useSsh],
      [4, this.#stop],
      [4, (expected) => this.#delete(expected)],
    ]
    let left = this.#parts.random.below(steps.reduce((sum, [weight]) => sum + weight, 0))
    return steps.find(([weight]) => (left -= weight) < 0)?.[1] ?? this.#write
  }

  async #create(): Promise<void> {
    const { clients, ledger, nextName } = this.#parts
    const expected = ledger.add(nextName())
    this.#current = { expected, workspace: undefined }
    await this.#change('create', expected.exists, true, async (signal) => {
      const workspace = await clients.api.create({ name: expected.name, noProvision: true, signal })
      this.#current = { expected, workspace }
    })
  }

  /** Repeated until it is acknowledged. A missing workspace counts as deleted. */
  async #delete(expected: ExpectedWorkspace): Promise<void> {
    const { clients } = this.#parts
    await this.#change('delete', expected.exists, false, async (signal) => {
      try {
        const workspace = await clients.api.get(expected.name, { signal })
        await workspace.delete({ signal })
      } catch (error) {
        if (!hasCode(error, 'WORKSPACE_NOT_FOUND')) throw error
      }
    })
    this.#current = undefined
  }

  async #start({ status }: ExpectedWorkspace, workspace: Workspace): Promise<void> {
    await this.#change('start', status, 'running', async (signal) => {
      try {
        await workspace.start({ signal })
      } catch (error) {
        if (!hasCode(error, 'WORKSPACE_ALREADY_RUNNING')) throw error
      }
    })
  }

  readonly #stop: Step = async (expected, workspace) => {
    expected.noteInterruption()
    await this.#change('stop', expected.status, 'stopped', (signal) => workspace.stop({ signal }))
  }

  readonly #write: Step = async (expected, workspace) => {
    const { random } = this.#parts
    const name = `f${random.below(FILE_NAMES)}`
    const register = expected.file(name)
    if (!register.isSettled) return
    const content = randomBytes(1 + random.below(random.chance(0.2) ? MAX_FILE_BYTES : 4096))
    const flushes = random.chance(0.5)
    await this.#change('write', register, digestOf(content), (signal) =>
      flushes
        ? run(workspace, ['/bin/sh', '-c', WRITE_FLUSHED, 'sh', name], signal, content.toString('base64'))
        : workspace.files.write(`${FILES_DIR}/${name}`, content, { createParents: true, signal }),
    )
  }

  readonly #remove: Step = async (expected, workspace) => {
    const [name, register] = this.#someFile(expected)
    if (register === undefined) return
    await this.#change('remove', register, undefined, (signal) =>
      workspace.files.remove(`${FILES_DIR}/${name}`, { signal }),
    )
  }

  readonly #append: Step = async (expected, workspace) => {
    const line = `${expected.name}-${this.#steps++}`
    expected.mayBeAppended.add(line)
    await run(workspace, ['/bin/sh', '-c', APPEND, 'sh', line], requestLimit())
    expected.appended.add(line)
    this.#parts.ledger.count('append')
  }

  readonly #label: Step = async (expected, workspace) => {
    const key = `k${this.#parts.random.below(LABEL_KEYS)}`
    const register = expected.label(key)
    if (!register.isSettled) return
    const value = `v${this.#steps++}`
    await this.#change('label', register, value, (signal) =>
      workspace.set({ labels: { [key]: value }, signal }),
    )
  }

  readonly #read: Step = async (expected, workspace) => {
    const [name, register] = this.#someFile(expected)
    if (register === undefined) return
    const signal = requestLimit()
    const digest = digestOf(await workspace.files.read(`${FILES_DIR}/${name}`, { signal }))
    if (!register.admits(digest)) this.#changed(`file ${name} of workspace ${expected.name}, as it was read`)
  }

  /** Sends bytes through a tunnel to a program that returns them. */
  readonly #transfer: Step = async ({ name }, workspace) => {
    const { clients, ledger, random, note } = this.#parts
    const signal = requestLimit()
    const { exitStatus } = await workspace.exec('command -v perl', { signal })
    if (exitStatus !== 0) return note('no bytes were sent through tunnels: the image has no Perl')
    const port = FIRST_PORT + random.below(PORTS)
    await workspace.spawn(['perl', '-e', ECHO_ONCE, String(port)], { signal })
    await workspace.waitForPort(port, { signal })
    const content = randomBytes(1 + random.below(MAX_TRANSFER_BYTES))
    const lost = (error: unknown): never => {
      signal.throwIfAborted()
      throw new ConnectionError('the tunnel was lost', { cause: error })
    }
    const tunnel = await clients.openTunnel(name, port, signal).catch(lost)
    tunnel.end(content)
    const returned = await buffer(tunnel).catch(lost)
    if (!content.subarray(0, returned.length).equals(returned))
      this.#changed(`bytes through port ${port} of workspace ${name}`)
    // A program or server that is killed ends the connection early, and without an error.
    if (returned.length === content.length) ledger.count('transfer')
  }

  readonly #useSsh: Step = async ({ name }) => {
    const { clients, ledger, random, note } = this.#parts
    if (clients.ssh === undefined) return note('SSH was not used: ssh or ssh-keygen is not installed')
    const text = randomBytes(1 + random.below(SSH_TEXT_BYTES)).toString('hex')
    const signal = requestLimit()
    const output = await clients.runOverSsh(name, 'sha256sum', text, signal).catch((error: unknown) => {
      if (!isTimeout(error)) throw error
      return this.#stuck('a program over SSH')
    })
    if (output === undefined) return
    if (!output.startsWith(digestOf(text))) this.#changed(`bytes over SSH to workspace ${name}`)
    ledger.count('transfer')
  }

  #stuck(what: string): undefined {
    const name = this.#current?.expected.name
    const limit = `took over ${REQUEST_LIMIT_MS / 1_000} s, until ${new Date().toISOString()}`
    this.#parts.report({ kind: 'stuck', what: `${what} in workspace ${name} ${limit}` })
  }

  #changed(what: string): void {
    this.#parts.report({ kind: 'changed', what })
  }

  /** Returns a file that exists and whose content is known, if any. */
  #someFile({ files }: ExpectedWorkspace): readonly [string, Register<string | undefined>] | readonly [] {
    const existing = [...files].filter(([, register]) => register.isSettled && !register.admits(undefined))
    return existing.length === 0 ? [] : this.#parts.random.pick(existing)
  }

  /** Sends a request that changes a value, and notes its answer. */
  async #change<T>(
    operation: Operation,
    register: Register<T>,
    value: T,
    send: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    register.begin(value)
    try {
      await send(requestLimit())
      register.acknowledge()
      this.#parts.ledger.count(operation)
    } catch (error) {
      if (error instanceof WorkspaceError && error.status >= 400 && error.status < 500) register.refuse()
      else {
        register.leaveOpen()
        this.#parts.ledger.countUnanswered()
      }
      // A creation whose answer was lost may have succeeded.
      const isRefused = operation === 'create' && error instanceof WorkspaceError
      if (isRefused) this.#parts.creationFailed(messageOf(error))
      throw error
    }
  }
}

/** A program inside that exited with an error, for example because it was killed. */
class ProgramFailed extends Error {}

async function run(
  workspace: Workspace,
  argv: readonly string[],
  signal: AbortSignal,
  stdin?: string,
): Promise<void> {
  const { exitStatus, stderr } = await workspace.exec(argv, {
    cwd: '/workspace',
    signal,
    ...(stdin !== undefined && { stdin }),
  })
  if (exitStatus !== 0) throw new ProgramFailed(stderr)
}

/** Whether a time limit aborted a request (`TimeoutError`), or a program on this machine (`AbortError`). */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof WorkspaceError && error.code === code
}

function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
