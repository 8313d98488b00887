import { constants } from 'node:os'
import { type Duplex, Writable } from 'node:stream'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { encodeMessage, MAX_ANSWER_BYTES, readMessage } from '../../../../lib/guest/message.ts'
import { EXEC_CHANNELS, type ExecMessage, type GuestProgram } from '../../../../lib/guest/protocol.ts'
import { Mux } from '../../../../lib/mux/mux.ts'
import { fault } from '../../../errors.ts'
import type { ExecProcess, ExitStatus } from '../../backend.ts'
import { GuestRefusal } from './ask-guest.ts'
import { type GuestDial, openSession } from './guest-session.ts'

/** Runs a program inside a VM over a session with its agent, which then belongs to the program. */
export async function execInGuest(dial: GuestDial, request: GuestProgram): Promise<ExecProcess> {
  const { connection } = await openSession(dial, { do: 'exec', ...request }).catch((error: unknown) => {
    if (!(error instanceof GuestRefusal)) throw error
    throw fault('BACKEND_ERROR', `the program cannot be run: ${error.message}`, error)
  })
  const mux = new Mux(connection, { isFirst: true })
  const control = mux.channel(EXEC_CHANNELS.control)
  // A guest that writes to a write-only channel is not running our agent.
  const input = mux.channel(EXEC_CHANNELS.stdin, { isWriteOnly: true })
  const outputs = [mux.channel(EXEC_CHANNELS.stdout), mux.channel(EXEC_CHANNELS.stderr)] as const
  for (const channel of [control, input, ...outputs]) channel.on('error', () => undefined)
  // Only one half of these two is used.
  for (const output of outputs) output.end()
  const exitStatus = readStatus(control)
  exitStatus.catch(ignore('not every caller awaits it'))
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

/**
 * Returns a stream into a channel. Once the program reads no more, further writes are dropped, as with a
 * broken pipe.
 */
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
      // Data that was already ended regularly is still delivered.
      if (!channel.writableEnded) channel.destroy()
      done(error)
    },
  })
  return input
}

async function readStatus(control: Duplex): Promise<ExitStatus> {
  const message = (await readMessage(control, MAX_ANSWER_BYTES).catch(ignore('it counts as no answer'))) as
    ExecMessage | undefined
  if (message?.say !== 'exit' || !Number.isInteger(message.status))
    throw fault('BACKEND_ERROR', 'the workspace stopped while the program was running')
  const { status, signal } = message
  const isSignal = signal !== undefined && signal in constants.signals
  return { status: Math.min(Math.max(status, 0), 255), ...(isSignal && { signal: signal as NodeJS.Signals }) }
}

/**
 * Closes the connection once the program has exited and all output, including that of its background
 * children, has been read.
 */
function closeWhenOver(mux: Mux, exitStatus: Promise<unknown>, outputs: readonly Duplex[]): void {
  const read = outputs.map((output) => new Promise((resolve) => output.once('close', resolve)))
  void Promise.allSettled([exitStatus, ...read]).then(() => mux.close())
}
