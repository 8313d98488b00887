import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseContentEncoding } from '../../../src/content/store/content-coding.ts'
import { fakeS3 } from '../../support/content/fake-s3.ts'

test.each([
  [undefined, undefined],
  ['', undefined],
  ['aws-chunked', undefined],
  ['AWS-Chunked,', undefined],
  ['identity', undefined],
  ['utf-8', undefined],
  ['none, aws-chunked', undefined],
  ['constructor', undefined],
  ['gzip', 'gzip'],
  ['aws-chunked,gzip', 'gzip'],
  ['gzip, aws-chunked', 'gzip'],
  ['x-gzip', 'gzip'],
  ['Br', 'br'],
  ['zstd,identity', 'zstd'],
  ['deflate , gzip', 'deflate, gzip'],
  ['gzip;q=1.0', 'gzip'],
  ['identity;q=0, br ; level=11;x=","', 'br'],
])('of the stored coding %j, only what describes the bytes remains: %j', (stored, sent) => {
  expect(parseContentEncoding(stored)).toBe(sent)
})

test('a bucket that keeps aws-chunked has plain objects, and compressed ones stay so', async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'KEY')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  const { open } = await fakeS3('honored')
  const store = open()
  const read = async (key: string, contentEncoding: string, bytes: Buffer) => {
    await store.write(key, bytes, { contentType: 'text/html', contentEncoding })
    const opened = await store.open(key)
    if (typeof opened === 'string') throw new Error(opened)
    return { coding: opened.contentEncoding, bytes: Buffer.concat(await opened.body.toArray()) }
  }
  const page = Buffer.from('<p>page')
  expect(await read('repos/a/plain.html', 'aws-chunked', page)).toEqual({ coding: undefined, bytes: page })
  const packed = await read('repos/a/packed.html', 'aws-chunked,gzip', gzipSync(page))
  expect([packed.coding, gunzipSync(packed.bytes)]).toEqual(['gzip', page])
})
