import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { GuestPorts } from '../../../../../src/workspace/backend/microvm/guest/guest-ports.ts'

function shortDir(): string {
  const directory = mkdtempSync('/tmp/vm-')
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('a connection is identified by its port, and leftovers of an earlier server are replaced', async () => {
  const directory = shortDir()
  writeFileSync(join(directory, 'vsock.sock_1024'), 'left')
  const ports = await GuestPorts.open(directory, [1024, 1030], (port, connection) =>
    connection.end(`to ${port}`),
  )
  onTestFinished(() => ports.close())
  for (const port of [1024, 1030])
    expect(await text(connect(join(directory, `vsock.sock_${port}`)))).toBe(`to ${port}`)
})

test('closing the ports closes accepted connections and refuses new ones', async () => {
  const directory = shortDir()
  const ports = await GuestPorts.open(directory, [1024], () => undefined)
  const guest = connect(join(directory, 'vsock.sock_1024'))
  await once(guest, 'connect')
  await new Promise((resolve) => setImmediate(resolve))
  ports.close()
  guest.resume()
  await once(guest, 'close')
  expect(existsSync(join(directory, 'vsock.sock_1024'))).toBe(false)
})

test('W2 a missing directory is reported', async () => {
  await expect(GuestPorts.open('/nonexistent', [1024], () => undefined)).rejects.toThrow(/EACCES|ENOENT/)
})

test('B5 a guest has at most 64 connections', async () => {
  const directory = shortDir()
  let count = 0
  const ports = await GuestPorts.open(directory, [1024, 1030], () => void count++)
  onTestFinished(() => ports.close())
  const open = (port: number) => {
    const guest = connect(join(directory, `vsock.sock_${port}`)).on('error', () => undefined)
    return new Promise<'closed' | 'open'>((resolve) => {
      guest.resume().once('close', () => resolve('closed'))
      guest.once('connect', () => setTimeout(resolve, 300, 'open'))
    })
  }
  const outcomes = await Promise.all(Array.from({ length: 200 }, (_, i) => open(i % 2 === 0 ? 1024 : 1030)))
  expect(outcomes.filter((outcome) => outcome === 'open')).toHaveLength(64)
  expect(count).toBe(64)
})
