import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { StoreConfig } from '../../../src/content/config.ts'
import { S3Store } from '../../../src/content/store/s3-store.ts'
import { type Ceph, startCeph } from '../../support/services/ceph.ts'
import { startContent } from '../../support/content/content-server.ts'
import { storeSuite } from '../../support/content/store-suite.ts'

let ceph: Ceph
beforeAll(async () => {
  ceph = await startCeph()
})
afterAll(() => ceph.stop())

function config(prefix: string, more: { readonly endpoint?: string; readonly timeoutMs?: number } = {}) {
  const { endpoint, bucket } = ceph
  return {
    type: 's3',
    bucket,
    prefix,
    endpoint,
    region: 'us-east-1',
    isPathStyle: true,
    hasConditionalWrites: true,
    timeoutMs: 10_000,
    ...more,
  } satisfies StoreConfig
}

storeSuite('s3', async () => new S3Store(config('suite/')), 1_050)

test('O4 a prefix cannot access another', async () => {
  const [one, other] = [new S3Store(config('one/')), new S3Store(config('other/'))]
  await one.write('secret', Buffer.from('x'), { contentType: 'text/plain' })
  expect(await other.open('secret')).toBe('missing')
  expect(await other.open('../one/secret')).toBe('missing')
  expect(await one.open('secret')).toMatchObject({ size: 1, contentType: 'text/plain' })
})

test('a missing bucket is not reported as a missing object', async () => {
  const store = new S3Store({ ...config(''), bucket: 'nowhere' })
  await expect(store.open('x')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(store.listNames('repos/')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

/** Opens a connection to the store that can be cut, paused and slowed down. */
async function wire(): Promise<{
  readonly endpoint: string
  mode: 'through' | 'cut' | 'stalled'
  afterBytes: number
}> {
  const sockets = new Set<Socket>()
  const target = Number(new URL(ceph.endpoint).port)
  const line = { endpoint: '', mode: 'through' as 'through' | 'cut' | 'stalled', afterBytes: 0 }
  const server = createServer((socket) => {
    const upstream = connect(target, '127.0.0.1')
    for (const each of [socket, upstream]) {
      sockets.add(each)
      each.on('error', () => undefined).on('close', () => sockets.delete(each))
    }
    socket.pipe(upstream)
    let seen = 0
    upstream.on('data', (bytes: Buffer) => {
      seen += bytes.length
      if (line.mode !== 'through' && seen > line.afterBytes) {
        if (line.mode === 'cut') socket.destroy()
        upstream.pause()
      } else socket.write(bytes)
    })
    upstream.on('close', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  line.endpoint = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return line
}

test('F22 a store that disconnects or is silent becomes STORE_UNAVAILABLE in bounded time', async () => {
  const line = await wire()
  const store = new S3Store(config('faults/', { endpoint: line.endpoint, timeoutMs: 700 }))
  await store.write('x', randomBytes(2_000_000), { contentType: '' })
  const readAll = async (): Promise<number> => {
    const object = await store.open('x')
    if (typeof object === 'string') throw new Error(object)
    let size = 0
    for await (const chunk of object.body) size += (chunk as Buffer).length
    return size
  }
  expect(await readAll()).toBe(2_000_000)
  for (const mode of ['cut', 'stalled'] as const)
    for (const afterBytes of [0, 500_000]) {
      Object.assign(line, { mode, afterBytes })
      await expect(readAll()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
  line.mode = 'through'
  expect(await readAll()).toBe(2_000_000)
})

test('F32 a reader slower than the store’s timeout gets the complete object', async () => {
  const store = new S3Store(config('slow/', { timeoutMs: 1_000 }))
  const bytes = randomBytes(4_000_000)
  await store.write('x', bytes, { contentType: '' })
  const object = await store.open('x')
  if (typeof object === 'string') throw new Error(object)
  const parts: Buffer[] = []
  // A link of about 1 MB/s, with bursts for what TCP and the streams buffer.
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      parts.push(chunk)
      setTimeout(done, parts.length % 20 === 0 ? 1_500 : 0)
    },
  })
  await pipeline(object.body, slow)
  expect(Buffer.concat(parts).equals(bytes)).toBe(true)
})

test('a site is served from the bucket, and large objects stream in constant memory', async () => {
  const { endpoint, bucket } = ceph
  const store = { type: 's3', bucket, prefix: 'site', endpoint, force_path_style: true }
  const direct = new S3Store(config('site/'))
  const bytes = randomBytes(300_000_000)
  await direct.write('repos/a/big.bin', bytes, { contentType: 'application/x-big' })
  await direct.write('repos/a/index.html', Buffer.from('page'), { contentType: 'text/html' })
  const { ask } = await startContent({}, { settings: { store } })
  expect(await (await ask('/repos/a/')).text()).toBe('page')
  global.gc?.()
  const before = process.memoryUsage.rss()
  let size = 0
  let most = 0
  const answer = await ask('/repos/a/big.bin')
  for await (const chunk of answer.body ?? []) {
    size += (chunk as Uint8Array).length
    most = Math.max(most, process.memoryUsage.rss() - before)
  }
  expect([size, answer.headers.get('content-type')]).toEqual([300_000_000, 'application/x-big'])
  // This process also contains the reader.
  expect(most).toBeLessThan(200_000_000)
  const part = await ask('/repos/a/big.bin', { headers: { range: 'bytes=299999990-' } })
  expect([part.status, Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(-10))]).toEqual([
    206,
    true,
  ])
})
