import type { Duplex } from 'node:stream'
import { encodeMessage, readMessage } from '../../src/lib/guest/message.ts'
import { EXEC_CHANNELS, type ExecMessage, type GuestProgram } from '../../src/lib/guest/protocol.ts'
import { Mux } from '../../src/lib/mux/mux.ts'
import { startProgram } from './program.ts'

/** Runs a program for the host over the accepted connection; closing the connection hangs the program up. */
export function serveExec(request: GuestProgram, accept: () => Duplex): void {
  const program = startProgram(request)
  const connection = accept()
  const mux = new Mux(connection, { isFirst: false })
  const control = mux.channel(EXEC_CHANNELS.control)
  const stdin = mux.channel(EXEC_CHANNELS.stdin)
  const targets = [mux.channel(EXEC_CHANNELS.stdout), mux.channel(EXEC_CHANNELS.stderr)]
  for (const channel of [control, stdin, ...targets]) channel.on('error', () => undefined)

  if (program.stdin === undefined) stdin.resume()
  else {
    const target = program.stdin
    // If the program closes its input, a writer must not wait forever.
    target.once('close', () => stdin.resume())
    stdin.pipe(target, { end: request.terminal === undefined })
  }
  for (const [i, target] of targets.entries()) {
    // The host sends only the end of this channel.
    target.resume()
    const output = program.outputs[i]
    if (output === undefined) {
      target.end()
      continue
    }
    output.pipe(target)
    output.on('error', () => undefined)
    // A terminal can end with an error, which does not end the pipe.
    output.once('close', () => target.end())
    // Without a reader, the program gets SIGPIPE, as with a pipe.
    target.once('close', () => (request.terminal === undefined ? output.destroy() : undefined))
  }
  connection.once('close', () => program.hangUp())
  void applyMessages(control, program)
  void program.ended.then((ended) => control.write(encodeMessage({ say: 'exit', ...ended })))
}

async function applyMessages(control: Duplex, program: ReturnType<typeof startProgram>): Promise<void> {
  try {
    for (;;) {
      const message = (await readMessage(control)) as ExecMessage | undefined
      if (message === undefined) return
      if (message.say === 'signal') program.signal(message.name)
      else if (message.say === 'resize') program.resize(message.columns, message.rows)
    }
  } catch {
    // The host disconnected or sent an invalid message: both close the connection.
    control.destroy()
  }
}
