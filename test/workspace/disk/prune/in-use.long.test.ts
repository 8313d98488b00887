import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, copyFileSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { names, OLD, prune } from '../../../support/workspace/disk/prune.ts'

async function run(
  program: string,
  argv: readonly string[],
  options: { readonly cwd?: string; readonly stdin?: number } = {},
): Promise<void> {
  const { cwd, stdin = 'ignore' } = options
  const child: ChildProcess = spawn(program, argv, { cwd, stdio: [stdin, 'ignore', 'ignore'] })
  await once(child, 'spawn')
  onTestFinished(() => void child.kill('SIGKILL'))
}

async function holdOpen(file: string, mode: string): Promise<void> {
  const fd = openSync(file, mode)
  await run('sleep', ['600'], { stdin: fd })
  closeSync(fd)
}

/** Ways to use a file, in a process that is not a VM's monitor. */
const USES = {
  'open for reading': (file: string) => holdOpen(file, 'r'),
  'open for writing': (file: string) => holdOpen(file, 'r+'),
  'its directory is a working directory': (file: string) => run('sleep', ['600'], { cwd: dirname(file) }),
  mapped: (file: string) => run(file, ['600']),
  'behind a loop device': (file: string) => {
    const { stdout, status } = spawnSync('losetup', ['-f', '--show', file], { encoding: 'utf8' })
    if (status !== 0) throw new Error('no loop device')
    onTestFinished(() => void spawnSync('losetup', ['-d', stdout.trim()]))
    return Promise.resolve()
  },
} as const

function canUse(use: string): boolean {
  if (use !== 'behind a loop device') return true
  return process.getuid?.() === 0 && spawnSync('losetup', ['-f']).status === 0
}

/** A file in each location that prune deletes from; a program, so that it can be executed as well. */
async function world() {
  const disk = new MachineDisk()
  disk.upper('stray')
  mkdirSync(disk.at('snapshots/half'))
  mkdirSync(disk.at('images/blobs/sha256/01.tmp/tree/deep'), { recursive: true })
  disk.machine('old', OLD)
  const digest = await disk.image('two', 'unused')
  const files = [
    disk.at('uppers/stray/upper.ext4'),
    disk.at('snapshots/half/upper.ext4'),
    disk.at('images/blobs/sha256/01.tmp/tree/deep/file'),
    disk.at('uppers/old/upper.ext4'),
    disk.at('images/blobs/sha256', digest.slice(7), 'rootfs.squashfs'),
  ]
  const sleep = spawnSync('readlink', ['-f', '/bin/sleep'], { encoding: 'utf8' }).stdout.trim()
  for (const file of files) {
    copyFileSync(sleep, file)
    chmodSync(file, 0o755)
  }
  writeFileSync(disk.at('uppers/stray/.note'), '')
  return { disk, files, server: await disk.serve() }
}

const ALL = ['01.tmp', 'half', 'old', 'stray', 'unused']

test.each(Object.keys(USES).filter(canUse) as (keyof typeof USES)[])(
  'a file in use (%s) is neither planned nor deleted',
  async (use) => {
    const { disk, files, server } = await world()
    const plan = await prune(server, 'dry_run=true')
    expect(names(plan.items)).toEqual(ALL)
    for (const file of files) await USES[use](file)
    const again = await prune(server, 'dry_run=true')
    expect(names(again.items)).toEqual([])
    // An item planned before the use began.
    const applied = await prune(server, `plan_id=${plan.plan_id}`)
    expect(applied.items).toEqual([])
    for (const file of files) expect(disk.has(file.slice(disk.root.length + 1)), file).toBe(true)
    const reasons = applied.skipped.filter(({ name }: any) => ALL.includes(name))
    expect(reasons).toHaveLength(ALL.length)
    for (const { reason } of reasons) expect(reason).toMatch(/process \d+ (has|works)|\/dev\/loop/)
  },
)

test('an unused file is deleted', async () => {
  const { server } = await world()
  expect(names((await prune(server)).items)).toEqual(ALL)
})
