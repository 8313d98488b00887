import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const TIMEOUT_MS = 5_000

/**
 * Says one command to a QEMU by its control socket and returns its answer. Source: QEMU's interop/qmp-spec. Rejects when QEMU
 * is gone, refuses, or does not answer within 5 s.
 */
export async function qmp(socketPath: string, command: string): Promise<unknown> {
  const socket = connect(socketPath)
  const late = setTimeout(() => socket.destroy(new Error('QEMU does not answer')), TIMEOUT_MS)
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
    await nextAnswer(lines, 'QMP')
    // Until the features of the protocol are agreed on, here none, it takes no other command.
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

/** Events come between answers. */
async function nextAnswer(lines: AsyncIterator<string>, key: string): Promise<unknown> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('QEMU is gone')
    const message = JSON.parse(value) as Record<string, unknown>
    if (key in message) return message[key]
    const error = message['error'] as { readonly desc?: string } | undefined
    if (error !== undefined) throw new Error(error.desc ?? 'QEMU refused')
  }
}
