import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const TIMEOUT_MS = 5_000

/**
 * Sends one command over a QEMU control socket and returns the response. Source: QEMU's interop/qmp-spec.
 * Rejects when QEMU has exited, refuses, or does not respond within 5 s.
 */
export async function qmp(socketPath: string, command: string): Promise<unknown> {
  const socket = connect(socketPath)
  const late = setTimeout(() => socket.destroy(new Error('QEMU does not respond')), TIMEOUT_MS)
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
    await nextAnswer(lines, 'QMP')
    // QEMU accepts no other command before capabilities are negotiated; none are needed here.
    for (const execute of ['qmp_capabilities', command]) {
      socket.write(`${JSON.stringify({ execute })}\n`)
      const answer = await nextAnswer(lines, 'return')
      if (execute === command) return answer
    }
    return undefined
  } finally {
    clearTimeout(late)
    socket.destroy()
  }
}

/** Reads the next response, skipping the events between responses. */
async function nextAnswer(lines: AsyncIterator<string>, key: string): Promise<unknown> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('QEMU has exited')
    const message = JSON.parse(value) as Record<string, unknown>
    if (key in message) return message[key]
    const error = message['error'] as { readonly desc?: string } | undefined
    if (error !== undefined) throw new Error(error.desc ?? 'QEMU refused the command')
  }
}
