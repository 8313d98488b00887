import { once } from 'node:events'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { callFilter } from '../../../src/lib/sandbox/call-filter.ts'
import { spawnSandboxed } from '../../../src/lib/sandbox/spawn-sandboxed.ts'
import { tempDir } from '../../support/temp-dir.ts'

const limits = { dataBytes: 2 ** 28, fileBytes: 2 ** 20, cpuSeconds: 1, processes: 64, openFiles: 64 }
let directory = ''
let secret = ''

beforeEach(() => {
  directory = tempDir()
  secret = join(tempDir(), 'secret')
  writeFileSync(secret, 'secret')
})

/**
 * Runs a shell in a sandbox that can write only to the test's directory, as root, so that only the filter prevents
 * device nodes.
 */
async function run(script: string): Promise<{ readonly status: number; readonly said: string }> {
  const child = spawnSandboxed(
    'sh',
    ['-c', script, 'sh', directory, secret],
    {
      writable: [directory],
      network: 'none',
      hidesProcesses: true,
      capabilities: process.getuid?.() === 0 ? ['CAP_MKNOD'] : [],
      limits,
    },
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const said = Promise.all(
    [child.stdout, child.stderr].flatMap((stream) => (stream === null ? [] : [text(stream)])),
  )
  const [status] = (await once(child, 'close')) as [number]
  return { status, said: (await said).join('') }
}

describe('a sandboxed program', () => {
  test.each([
    ['make a FIFO', 'mkfifo $1/x'],
    ['make a block device', 'mknod $1/x b 7 0'],
    ['make a character device', 'mknod $1/x c 1 5'],
    ['make a socket node', `perl -e 'exit(syscall(133, "$ARGV[0]/x", 0140644, 0) == -1)' $1`],
    ['enter a user namespace', 'unshare --user touch $1/x'],
    ['mount', 'mount -t tmpfs tmpfs $1 && touch $1/x'],
    ['write outside its directory', 'touch /x /dev/x /tmp/x || exit 1; touch $1/x'],
    ['read paths that it was not given', 'cat $2 && touch $1/x'],
    ['see other processes', `test -e /proc/${process.pid} && touch $1/x`],
    ['use more memory', `perl -e '$x = "x" x (1 << 29)' && touch $1/x`],
    ['leave its network by vsock', `perl -e 'socket(my $s, 40, 1, 0) or exit 1' && touch $1/x`],
  ])('cannot %s', async (_what, script) => {
    const { status } = await run(script)
    expect(status).not.toBe(0)
    expect(readdirSync(directory)).toEqual([])
  })

  test('is terminated when it writes too large a file, or takes too long', { tags: ['long'] }, async () => {
    expect((await run('dd if=/dev/zero of=$1/x bs=1M count=2')).status).toBe(128 + 25)
    rmSync(join(directory, 'x'))
    expect([128 + 24, 128 + 9]).toContain((await run('while :; do :; done')).status)
  })

  test('can make files and directories, read the system and open local sockets', async () => {
    const script = `mkdir $1/d && echo x > $1/d/f && perl -e 'socket(my $s, 1, 1, 0) or exit 1' && cat $1/d/f`
    expect(await run(script)).toEqual({ status: 0, said: 'x\n' })
  })
})

test('a filter exists for all released architectures', () => {
  expect(['x64', 'arm64'].map((arch) => callFilter(arch as NodeJS.Architecture)?.length)).toEqual([
    expect.any(Number),
    expect.any(Number),
  ])
  expect(callFilter('s390x')).toBeUndefined()
})
