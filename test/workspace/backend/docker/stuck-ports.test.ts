import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dialContainer } from '../../../../src/workspace/backend/docker/exec/dial.ts'
import { DialLimit } from '../../../../src/workspace/backend/docker/exec/dial-limit.ts'
import { dialNamespace } from '../../../../src/native/net/netns.ts'
import { docker, TEST_IMAGE } from '../../../support/engine/docker.ts'
import { rounds } from '../../../support/rounds.ts'
import { waitFor } from '../../../support/wait-for.ts'

const noProgram = () => Promise.reject(new Error('the container was entered by a program'))
/** Listens without accepting. */
const STUCK =
  '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 3000); print "ready\\n"; sleep'
/** Sends a word to every client. */
const BUSY =
  '$s = IO::Socket::INET->new(Listen => 99, LocalAddr => "127.0.0.1", LocalPort => 4000); print "ready\\n"; while ($c = $s->accept) { print $c "word"; close $c }'

describe.runIf(process.getuid?.() === 0)('ports that accept nothing', () => {
  const containers: { id: string; pid: number }[] = []
  const run = async (program: string) => {
    const name = `stuck-${randomBytes(4).toString('hex')}`
    const id = await docker(
      'run',
      '-d',
      '--network',
      'none',
      '--name',
      name,
      TEST_IMAGE,
      'perl',
      '-MIO::Socket::INET',
      '-e',
      `$| = 1; ${program}`,
    )
    const pid = Number(await docker('inspect', '--format', '{{.State.Pid}}', id))
    await waitFor('the program', async () => (await docker('logs', id)).includes('ready'))
    containers.push({ id, pid })
    return { id, pid }
  }
  let stuck: { id: string; pid: number }
  let busy: { id: string; pid: number }
  beforeAll(async () => {
    stuck = await run(STUCK)
    busy = await run(BUSY)
  })
  afterAll(() => docker('rm', '-f', ...containers.map(({ id }) => id)))

  test('W10 block no other workspace and no work of this process', async () => {
    let ended = 0
    const stuckDials = Array.from({ length: 60 }, () =>
      dialContainer(stuck, 3000, noProgram).then(
        (stream) => stream.destroy(),
        () => void ended++,
      ),
    )
    for (let i = 0; i < 50; i++) {
      const stream = await dialContainer(busy, 4000, noProgram)
      stream.destroy()
      // Work on the same thread pool.
      await readFile('/proc/self/status')
    }
    // The listen queue accepts a few; the others wait for ten seconds.
    expect(ended).toBe(0)
    void Promise.allSettled(stuckDials)
  })

  test('a connection that nothing accepts times out', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, () => dialNamespace(stuck.pid, stuck.id, 3000, 200)),
    )
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value.destroy()
    const codes = outcomes.flatMap((each) =>
      each.status === 'rejected' ? [(each.reason as NodeJS.ErrnoException).code] : [],
    )
    expect(codes.length).toBeGreaterThan(0)
    expect(new Set(codes)).toEqual(new Set(['ETIMEDOUT']))
  })

  test('W7 a process that does not belong to the container is refused after its namespace was opened', async () => {
    await expect(dialNamespace(process.pid, stuck.id, 3000, 500)).rejects.toMatchObject({ code: 'ESRCH' })
    await expect(dialNamespace(busy.pid, stuck.id, 4000, 500)).rejects.toMatchObject({ code: 'ESRCH' })
  })

  test('W7 a connection never connects to itself', async () => {
    // Free ports of the ephemeral range, from which the kernel might choose both ends.
    const [low = 0, high = 0] = (await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))
      .split('\t')
      .map(Number)
    for (let port = low; port < Math.min(high, low + rounds(500, 3_000)); port += 1)
      await expect(dialNamespace(busy.pid, busy.id, port, 500)).rejects.toMatchObject({
        code: 'ECONNREFUSED',
      })
  })
})

test('at most 16 dials per workspace run concurrently; others wait, and other workspaces are unaffected', async () => {
  const limit = new DialLimit()
  const running = new Set<string>()
  const releases: (() => void)[] = []
  const dial = (workspace: string, i: number) =>
    limit.run(workspace, async () => {
      running.add(`${workspace} ${i}`)
      await new Promise<void>((resolve) => releases.push(resolve))
      running.delete(`${workspace} ${i}`)
      return i
    })
  const all = [...Array.from({ length: 40 }, (_, i) => dial('a', i)), dial('b', 0)]
  await Promise.resolve()
  expect([...running].filter((each) => each.startsWith('a'))).toHaveLength(16)
  expect(running.has('b 0')).toBe(true)
  while (running.size > 0) {
    releases.splice(0).forEach((release) => release())
    await new Promise((resolve) => setImmediate(resolve))
    expect([...running].filter((each) => each.startsWith('a')).length).toBeLessThanOrEqual(16)
  }
  expect(await Promise.all(all)).toEqual([...Array.from({ length: 40 }, (_, i) => i), 0])
})

test('the number of waiting dials per workspace is limited', async () => {
  const limit = new DialLimit()
  const never = () => new Promise<never>(() => undefined)
  for (let i = 0; i < 16 + 512; i++) void limit.run('a', never)
  await expect(limit.run('a', never)).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
})
