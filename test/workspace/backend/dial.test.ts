import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { dialContainer } from '../../../src/workspace/backend/docker/exec/dial.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'
import { dockerBackend, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'

/** The report of an engine on another machine: a process that does not exist here. */
const ELSEWHERE = { id: 'f'.repeat(64), pid: 1 }

const backend = dockerBackend()
const name = uniqueName('dial')
const request = backendCreate(name, TEST_IMAGE, { createdAt: new Date() })

beforeAll(async () => {
  await backend.open(() => undefined)
  await backend.create(request, () => undefined, new AbortController().signal)
})
afterAll(async () => {
  await backend.remove(name, false)
  await backend.close()
})

const dial = (port: number) => dialContainer(ELSEWHERE, port, (argv) => backend.exec(name, { argv }))

test('a closed port is reported without a path on this machine', async () => {
  await expect(backend.dial(name, 1)).rejects.toThrow(
    /^port 1 inside the workspace cannot be reached: connection refused$/,
  )
})

test('a port is dialed by a program in the workspace when its network cannot be entered', async () => {
  const data = randomBytes(2 ** 20)
  const inside = createServer((socket) => {
    socket.on('error', () => undefined)
    // Replies to the request and exits.
    socket.once('data', (asked) => socket.end(Buffer.concat([asked, data])))
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  const stream = await dial((inside.address() as { port: number }).port)
  stream.write('ask')
  const answer = await buffer(stream)
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  expect(hash(answer)).toBe(hash(Buffer.concat([Buffer.from('ask'), data])))
})

test('a closed port is refused by that program, too', async () => {
  await expect(dial(1)).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
})
