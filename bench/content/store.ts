import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { S3Store } from '../../src/content/store/s3-store.ts'
import { mapConcurrently } from '../../src/content/repo/repo-list.ts'
import { type Ceph, startCeph } from '../../test/support/services/ceph.ts'
import { startOurs } from '../content-servers.ts'
import type { Bench } from '../harness.ts'
import { memoryOf } from '../process-memory.ts'

const LARGE_BYTES = 1_000_000_000
const REPOS = 10_000
const LOOK_EVERY_MS = 50

const bench: Bench = {
  note:
    "An object of 1 GB in a bucket of Ceph's gateway (in memory, on this machine), read by curl through our server, and directly by the AWS SDK; and " +
    `the first \`/_api/repos\` of ${REPOS} repositories there, with the number of requests to the store. One run of each.`,
  async prepare() {
    const dir = mkdtempSync(join(tmpdir(), 'content-bench-'))
    const ceph = await startCeph(3 * 2 ** 30)
    return {
      cases: [],
      more: () => compare(dir, ceph),
      async cleanUp() {
        await ceph.stop()
        rmSync(dir, { recursive: true })
      },
    }
  },
}
export default bench

async function compare(dir: string, { endpoint, bucket }: Ceph): Promise<string> {
  const prefix = 'bench'
  const store = new S3Store({
    type: 's3',
    bucket,
    prefix: `${prefix}/`,
    endpoint,
    region: 'us-east-1',
    isPathStyle: true,
    hasConditionalWrites: true,
    timeoutMs: 60_000,
  })
  await store.write('repos/r0/large.bin', Buffer.alloc(LARGE_BYTES, 'x'), {
    contentType: 'application/octet-stream',
  })
  await mapConcurrently(
    32,
    Array.from({ length: REPOS }, (_, i) => i),
    (i) =>
      store.write(`repos/r${i}/_meta.json`, Buffer.from(JSON.stringify({ description: `number ${i}` })), {
        contentType: 'application/json',
      }),
  )
  const server = await startOurs(dir, { type: 's3', bucket, prefix, endpoint, force_path_style: true })
  try {
    const beganMs = performance.now()
    const repos = (await (
      await fetch(`${server.url}/_api/repos`, { headers: { cookie: server.cookie } })
    ).json()) as unknown[]
    const listMs = performance.now() - beganMs
    const againMs = performance.now()
    await (await fetch(`${server.url}/_api/repos`, { headers: { cookie: server.cookie } })).json()
    const keptMs = performance.now() - againMs
    const idle = memoryOf([server.pid]).rss
    const ours = await download(`${server.url}/repos/r0/large.bin`, server.cookie, server.pid)
    const direct = await readDirectly(store)
    return [
      '| | |',
      '| --- | ---: |',
      `| 1 GB, ours | ${ours.rate.toFixed(0)} MB/s |`,
      `| 1 GB, AWS SDK | ${direct.toFixed(0)} MB/s |`,
      `| memory before, and maximum during the download | ${megabytes(idle)}, ${megabytes(ours.rss)} |`,
      `| first list of ${repos.length} repositories | ${listMs.toFixed(0)} ms, ${Math.ceil(REPOS / 1_000)} lists and ${REPOS} objects requested |`,
      `| the next one | ${keptMs.toFixed(0)} ms, nothing asked for |`,
    ].join('\n')
  } finally {
    await server.stop()
    store.close()
  }
}

/** Returns the download rate in MB/s, and the maximum memory of a process meanwhile. */
async function download(url: string, cookie: string, pid: number) {
  const beganMs = performance.now()
  const child = spawn('curl', ['-sf', '-o', '/dev/null', '-H', `Cookie: ${cookie}`, url], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  let rss = 0
  while (child.exitCode === null) {
    rss = Math.max(rss, memoryOf([pid]).rss)
    await delay(LOOK_EVERY_MS)
  }
  const [status] = await ended
  if (status !== 0) throw new Error(`curl exited with ${String(status)}`)
  return { rate: LARGE_BYTES / 1e3 / (performance.now() - beganMs), rss }
}

async function readDirectly(store: S3Store): Promise<number> {
  const beganMs = performance.now()
  const object = await store.open('repos/r0/large.bin')
  if (typeof object === 'string') throw new Error(object)
  let size = 0
  for await (const chunk of object.body) size += (chunk as Buffer).length
  if (size !== LARGE_BYTES) throw new Error(`received ${size} bytes`)
  return LARGE_BYTES / 1e3 / (performance.now() - beganMs)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
