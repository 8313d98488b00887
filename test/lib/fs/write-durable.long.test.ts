import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { writeFileDurable } from '../../../src/lib/fs/write-durable.ts'
import { admin, canMount, mountFileSystem, unmountLoop } from '../../support/files/file-systems.ts'
import { rounds } from '../../support/rounds.ts'
import { SEED } from '../../support/seed.ts'
import { tempDir } from '../../support/temp-dir.ts'

const WRITER = join(import.meta.dirname, '../../support/files/durable-writer.ts')
const CUTS = rounds(5, 500)

/** Simulates a power cut of a directory's file system: unwritten data is lost. Source: ext4's ioctl SHUTDOWN. */
function cutPower(directory: string): void {
  const withoutLog = 2
  const script = `my $how = pack('L', ${withoutLog}); open(my $d, '<', $ARGV[0]) or die; ioctl($d, 0x8004587d, $how) or die "$!"`
  execFileSync('perl', ['-e', script, directory])
}

test.runIf(canMount)(
  `F4 what was said to last is there after each of ${CUTS} power cuts, and whole`,
  { timeout: 60_000 + CUTS * 5_000 },
  async () => {
    const directory = mountFileSystem('ext4')
    const device = admin('findmnt', '-nvo', 'SOURCE', directory).trim()
    const image = admin('losetup', '-nO', 'BACK-FILE', device).trim()
    const file = join(directory, 'state')
    const random = new Random(SEED)
    let acknowledged = 0
    for (let cut = 0; cut < CUTS; cut++) {
      const writer = spawn(process.execPath, [WRITER, file, String(acknowledged + 1)], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const said = text(writer.stdout)
      await once(writer.stdout, 'readable')
      await delay(random.next() * 100)
      cutPower(directory)
      // The next write fails, and that ends it.
      await once(writer, 'close')
      acknowledged = Number((await said).trim().split('\n').at(-1))
      // A mount would otherwise return the same one, still without power.
      await unmountLoop(directory, image)
      admin('mount', '-o', 'loop', image, directory)
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      expect(lines).toHaveLength(1_000)
      expect(new Set(lines).size).toBe(1)
      expect(Number(lines[0])).toBeGreaterThanOrEqual(acknowledged)
    }
  },
)

test.each([
  ['of the file', 1],
  ['of its directory', 2],
])('F9 a write whose fsync %s fails is never said to last', async (_what, when) => {
  const file = join(tempDir(), 'state')
  await writeFileDurable(file, 'old')
  const { status, stdout, stderr } = spawnSync(
    'strace',
    [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      `inject=fsync:error=EIO:when=${when}`,
      process.execPath,
      WRITER,
      file,
    ],
    // One thread, since calls are counted for each.
    { encoding: 'utf8', env: { ...process.env, UV_THREADPOOL_SIZE: '1' } },
  )
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toContain('EIO')
  // Before the rename the old one stays; after it the new one is there, and is whole.
  expect(readFileSync(file, 'utf8')).toBe(when === 1 ? 'old' : '1\n'.repeat(1_000))
  expect(readdirSync(join(file, '..'))).toEqual(['state'])
})
