import { once } from 'node:events'
import { renameSync, unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { qmp } from '../../../../src/workspace/backend/qemu/qmp.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** Answers each command with its name, after an event. */
async function qemuAt(path: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.write('{"QMP": {}}\n')
    createInterface({ input: socket }).on('line', (line) => {
      const { execute } = JSON.parse(line) as { execute: string }
      const answer = execute === 'refused' ? { error: { desc: 'no' } } : { return: execute }
      socket.write(`{"event": "RESUME"}\n${JSON.stringify(answer)}\n`)
    })
  })
  await once(server.listen(path), 'listening')
  onTestFinished(() => void server.close())
  return server
}

/** Creates a socket to which nothing listens. */
async function deafSocket(path: string): Promise<void> {
  const server = await qemuAt(`${path}.listening`)
  renameSync(`${path}.listening`, path)
  await new Promise((resolve) => server.close(resolve))
}

test('commands are sent one after the other, and the last answer is returned', async () => {
  const path = join(tempDir(), 'qmp.sock')
  await qemuAt(path)
  expect(await qmp(path, [{ execute: 'stop' }, { execute: 'query-status' }])).toBe('query-status')
  await expect(qmp(path, [{ execute: 'refused' }])).rejects.toThrow('no')
})

test('a socket to which QEMU does not listen yet is waited for, but not one that is missing', async () => {
  const path = join(tempDir(), 'qmp.sock')
  await expect(qmp(path, [])).rejects.toThrow('ENOENT')
  await deafSocket(path)
  const answer = qmp(path, [{ execute: 'cont' }])
  answer.catch(() => undefined)
  await expect(
    Promise.race([answer, new Promise((resolve) => setImmediate(resolve, 'waits'))]),
  ).resolves.toBe('waits')
  unlinkSync(path)
  // Listens before it has the name.
  await qemuAt(`${path}.new`)
  renameSync(`${path}.new`, path)
  expect(await answer).toBe('cont')
})

test('a QEMU that does not respond, or resets the connection, is an error', async () => {
  const path = join(tempDir(), 'qmp.sock')
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket))
  await once(server.listen(path), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await expect(qmp(path, [], 50)).rejects.toThrow('QEMU does not respond')
  const exited = qmp(path, [])
  exited.catch(() => undefined)
  await waitFor('the connection', () => sockets.length === 2)
  sockets[1]?.destroy()
  await expect(exited).rejects.toThrow('QEMU has exited')
})

test('a socket to which nothing ever listens is refused', { tags: ['long'] }, async () => {
  const path = join(tempDir(), 'qmp.sock')
  await deafSocket(path)
  await expect(qmp(path, [])).rejects.toThrow('ECONNREFUSED')
})
