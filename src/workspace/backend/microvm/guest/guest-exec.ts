import { constants } from 'node:os'
import { type Duplex, Writable } from 'node:stream'
import { encodeMessage, MAX_ANSWER_BYTES, readMessage } from '../../../../lib/guest/message.ts'
import { EXEC_CHANNELS, type ExecMessage, type GuestProgram } from '../../../../lib/guest/protocol.ts'
import { Mux } from '../../../../lib/mux/mux.ts'
import { fault } from '../../../errors.ts'
import type { ExecProcess, ExitStatus } from '../../backend.ts'
import { askGuest, GuestRefusal } from './ask-guest.ts'

/** Runs a program inside a machine over a connection to its agent, which is the program's from then on. */
export async function execInGuest(connection: Duplex, request: GuestProgram): Promise<ExecProcess> {
  try {
    await askGuest(connection, { do: 'exec', ...request })
  } catch (error) {
    if (!(error instanceof GuestRefusal)) throw error
    throw fault('BACKEND_ERROR', `the program cannot be run: ${error.message}`, error)
  }
  const mux = new Mux(connection, { isFirst: true })
  const control = mux.channel(EXEC_CHANNELS.control)
  // A guest that writes where it may only read is not ours.
  const input = mux.channel(EXEC_CHANNELS.stdin, { isWriteOnly: true })
  const outputs = [mux.channel(EXEC_CHANNELS.stdout), mux.channel(EXEC_CHANNELS.stderr)] as const
  for (const channel of [control, input, ...outputs]) channel.on('error', () => undefined)
  // Of these two only one half is in use.
  for (const output of outputs) output.end()
  const exitStatus = readStatus(control)
  // Not everybody asks.
  exitStatus.catch(() => undefined)
  if (!request.stdin && request.terminal === undefined) input.end()
  closeWhenOver(mux, exitStatus, outputs)
  return {
    stdin: request.stdin || request.terminal !== undefined ? inputOf(input) : input,
    stdout: outputs[0],
    stderr: outputs[1],
    exitStatus,
    resize: (columns, rows) => void control.write(encodeMessage({ say: 'resize', columns, rows })),
    signal(name) {
      if (control.destroyed) return Promise.resolve(false)
      control.write(encodeMessage({ say: 'signal', name }))
      return Promise.resolve(true)
    },
    hangUp() {
      mux.close()
      for (const output of outputs) output.destroy()
      return Promise.resolve()
    },
  }
}

/** Writes into a channel; when the program wants no more, what is still written is dropped, as with a pipe that broke. */
function inputOf(channel: Duplex): Writable {
  const input = new Writable({
    write(chunk, _encoding, done) {
      if (channel.destroyed) done()
      else channel.write(chunk, () => done())
    },
    final(done) {
      if (!channel.destroyed) channel.end()
      done()
    },
    destroy(error, done) {
      // What has been ended in good order is left to arrive.
      if (!channel.writableEnded) channel.destroy()
      done(error)
    },
  })
  return input
}

async function readStatus(control: Duplex): Promise<ExitStatus> {
  const message = (await readMessage(control, MAX_ANSWER_BYTES).catch(() => undefined)) as
    ExecMessage | undefined
  if (message?.say !== 'exit' || !Number.isInteger(message.status))
    throw fault('BACKEND_ERROR', 'the workspace went away while the program ran')
  const { status, signal } = message
  const isSignal = signal !== undefined && signal in constants.signals
  return { status: Math.min(Math.max(status, 0), 255), ...(isSignal && { signal: signal as NodeJS.Signals }) }
}

/** The connection goes when the program has ended and all that it, and what it left running, had to say has been read. */
function closeWhenOver(mux: Mux, exitStatus: Promise<unknown>, outputs: readonly Duplex[]): void {
  const read = outputs.map((output) => new Promise((resolve) => output.once('close', resolve)))
  void Promise.allSettled([exitStatus, ...read]).then(() => mux.close())
}
