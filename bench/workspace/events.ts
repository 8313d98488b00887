import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openEventReaders } from '../../test/support/workspace/client/event-readers.ts'
import type { Bench } from '../harness.ts'

const READERS = 10_000

const bench: Bench = {
  note:
    `From a change until the last of ${READERS} readers of GET /api/events has received it; server and readers are ` +
    'separate processes. The peer is a bare node:http server that writes the same bytes to everyone, without limits or checks.',

  async prepare() {
    const ours = await follow('ours')
    const plain = await follow('plain')
    return {
      cases: [
        {
          name: `event to ${READERS} readers`,
          ours: ours.sendEvent,
          peer: plain.sendEvent,
          peerName: 'node:http',
        },
      ],
      async cleanUp() {
        await ours.stop()
        await plain.stop()
      },
    }
  },
}
export default bench

async function follow(server: 'ours' | 'plain') {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../event-server.ts'), server], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const readers = openEventReaders(url, READERS)
  await readers.next()
  return {
    sendEvent: async (): Promise<void> => {
      child.stdin.write('\n')
      await readers.next()
    },
    stop: async (): Promise<void> => {
      await readers.stop()
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
