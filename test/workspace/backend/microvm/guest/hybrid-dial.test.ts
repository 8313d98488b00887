import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { dialHybrid } from '../../../../../src/workspace/backend/microvm/guest/hybrid-dial.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

/** A monitor's socket that gives every connection this answer. */
async function monitor(answer: (socket: Socket, asked: string) => void): Promise<string> {
  const path = join(tempDir(), 'v')
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (asked) => answer(socket, asked.toString()))
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  return path
}

test('B4 the answer is removed exactly, however it is split, and the rest belongs to the guest', async () => {
  const said = 'OK 1073741824\nOK 7\nthe guest'
  for (let at = 1; at < said.length; at++) {
    const path = await monitor((socket, asked) => {
      expect(asked).toBe('CONNECT 1025\n')
      socket.write(said.slice(0, at))
      setImmediate(() => socket.end(said.slice(at)))
    })
    expect(await text(await dialHybrid(path, 1025, 5_000))).toBe('OK 7\nthe guest')
  }
})

test.each([
  ['nothing, and the end', ''],
  ['an endless line', `OK ${'1'.repeat(1000)}`],
  ['a long line', `OK ${'1'.repeat(40)}\n`],
  ['another word', 'NO 1\n'],
  ['no number', 'OK\n'],
  ['a negative number', 'OK -1\n'],
])('B4 %s is not a valid answer', async (_what, said) => {
  const path = await monitor((socket) => void socket.end(said))
  await expect(dialHybrid(path, 1025, 5_000)).rejects.toThrow(/connection refused/)
})

test('a dial without an answer times out', async () => {
  const path = await monitor(() => undefined)
  await expect(dialHybrid(path, 1025, 50)).rejects.toThrow(/timed out/)
})

test('a missing socket is reported', async () => {
  await expect(dialHybrid(join(tempDir(), 'none'), 1025, 50)).rejects.toThrow(/ENOENT/)
})
