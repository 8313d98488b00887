import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { PassThrough, Writable } from 'node:stream'
import { fc } from '../../../support/fast-check.ts'
import { expect, onTestFinished, test } from 'vitest'
import ssh2, { type ClientChannel } from '../../../../src/lib/ssh/ssh2.ts'
import { sftpPace } from '../../../../src/workspace/faces/ssh/sftp-pace.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'
import { rounds } from '../../../support/rounds.ts'

/** Returns a message of that many bytes, including its length prefix. */
function message(bytes: number): Buffer {
  const made = Buffer.alloc(bytes, 0x61)
  made.writeUInt32BE(bytes - 4)
  return made
}

/** A server that, like sftp-server, reads without limit and answers one request per turn of the event loop. */
function greedyServer() {
  const state = { heldBytes: 0, mostHeldBytes: 0, answered: 0 }
  const stdout = new PassThrough()
  let pending = Buffer.alloc(0)
  let isAnswering = false
  const answer = (): void => {
    const length = pending.length < 4 ? Infinity : 4 + pending.readUInt32BE()
    isAnswering = pending.length >= length
    if (!isAnswering) return
    pending = pending.subarray(length)
    state.heldBytes -= length
    state.answered += 1
    stdout.write(message(28))
    setImmediate(answer)
  }
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      pending = Buffer.concat([pending, chunk])
      state.heldBytes += chunk.length
      state.mostHeldBytes = Math.max(state.mostHeldBytes, state.heldBytes)
      if (!isAnswering) setImmediate(answer)
      isAnswering = true
      done()
    },
  })
  return { stdin, stdout, state }
}

/** Cuts bytes into pieces, cycling through the given sizes. */
function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

test('requests pass unchanged and are delayed, regardless of chunk boundaries', async () => {
  const lengths = fc.array(fc.integer({ min: 4, max: 600 }), { minLength: 1, maxLength: 80 })
  const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(lengths, sizes, fc.integer({ min: 1, max: 1_000 }), async (all, pieces, most) => {
      const { stdin, stdout, state } = greedyServer()
      const { requests, answers } = sftpPace(most)
      const passed: Buffer[] = []
      requests.on('data', (chunk: Buffer) => passed.push(chunk))
      requests.pipe(stdin)
      stdout.pipe(answers).resume()
      const sent = Buffer.concat(all.map(message))
      for (const piece of cut(sent, pieces)) requests.write(piece)
      requests.end()
      await once(stdin, 'finish')
      expect(Buffer.concat(passed).equals(sent)).toBe(true)
      // Plus one chunk and one request that ends in the next chunk.
      expect(state.mostHeldBytes).toBeLessThan(most + Math.max(...pieces) + Math.max(...all))
    }),
    { numRuns: rounds(40, 200) },
  )
})

test(
  'a client that never waits for answers does not fill the memory of sftp-server',
  { tags: ['long'] },
  async () => {
    const { stdin, stdout, state } = greedyServer()
    const backend = new (class extends FakeBackend {
      override async exec(...asked: Parameters<FakeBackend['exec']>) {
        const process = await super.exec(asked[0], { ...asked[1], argv: ['sleep', '60'] })
        return { ...process, stdin, stdout }
      }
    })()
    const server = await startWorkspaceServer({ backends: () => [backend] })
    onTestFinished(() => server.stop())
    const { keyFile, remove } = await openSsh(server)
    onTestFinished(remove)
    await makeWorkspace(server.url, { name: 'dev' })
    const client = new ssh2.Client()
    onTestFinished(() => void client.destroy())
    const privateKey = readFileSync(keyFile)
    client.connect({ host: '127.0.0.1', port: server.sshPort, username: 'dev', privateKey })
    await once(client, 'ready')
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      client.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened)))
    })
    let answerBytes = 0
    channel.on('data', (chunk: Buffer) => (answerBytes += chunk.length))
    const requests = 2_000
    channel.write(Buffer.concat(Array.from({ length: requests }, () => message(4_096))))
    await waitFor('all answers', () => answerBytes === requests * 28)
    expect(state.answered).toBe(requests)
    expect(state.mostHeldBytes).toBeLessThan(512 * 1024)
  },
)
