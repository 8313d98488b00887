import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Workspace } from '../../../../src/workspace/client/sdk/connect.ts'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { BusyBoxBackend } from '../../../support/workspace/backend/busybox-backend.ts'
import { describeOn } from '../../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

const KINDS = [
  { kind: 'docker', backend: () => dockerBackend() },
  { kind: 'fake', backend: () => new FakeBackend() },
  { kind: 'BusyBox', backend: () => new BusyBoxBackend(), isLong: true },
] as const

/** A tree of files of all kinds, whose names an option parser or a line reader could take for something else. */
const TREE = `
mkdir -p 'a b/-rf/--checkpoint=1' empty
printf '%s' content > 'a b/new
line'
head -c 3000000 /dev/zero | tr '\\0' x > large
echo run > script; chmod 4750 script
chmod 1777 empty
ln script hard
ln -s script soft; ln -s /etc/passwd absolute; ln -s ../../.. up; ln -s none broken
touch -d @86400 script large
mkfifo fifo`
/** Sparse files with holes at each place, of 20 MiB together. */
const SPARSE_TREE = `
at() { dd of="$1" bs=4096 seek="$2" count=1 conv=notrunc 2>/dev/null; }
echo data > start && truncate -s 4M start
echo data | at middle 512 && truncate -s 4M middle
truncate -s 4M end && echo data >> end
truncate -s 4M 'all of it'
truncate -s 7 small
i=0; while [ $i -lt 512 ]; do echo $i | at many $i; i=$((i + 8)); done; truncate -s 4M many
echo full > full`
/** BusyBox does not set the times of links. */
const SNAPSHOT = `
find . ! -type d ! -type l -exec stat -c '%n %f %s %Y %h' {} + | sort
find . \\( -type d -o -type l \\) -exec stat -c '%n %f' {} + | sort
for link in soft absolute up broken; do readlink $link; done
cat 'a b/'* 2>/dev/null; cksum large`

describeOn(KINDS, 'archives of directories', ({ backend, kind }) => {
  const dir = `/workspace/${uniqueName('tar')}`
  let server: TestServer
  let workspace: Workspace
  const run = async (command: string, directory = dir): Promise<string> =>
    (await workspace.exec(`cd '${directory}' && ${command}`)).stdout
  const download = async (path: string): Promise<Buffer> => {
    const pieces: Uint8Array[] = []
    for await (const piece of workspace.files.downloadArchive(path)) pieces.push(piece)
    return Buffer.concat(pieces)
  }
  const pack = (files: (directory: string) => void, ...options: readonly string[]): Buffer => {
    const directory = tempDir()
    files(directory)
    return execFileSync('tar', ['-cPf', '-', '-C', directory, ...options])
  }
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend()] })
    workspace = await connect({ url: server.url }).create({ name: uniqueName('tar') })
    await workspace.files.mkdir(`${dir}/tree`)
  })
  afterAll(async () => {
    await workspace.delete()
    await server.stop()
  })

  test('a directory arrives elsewhere with its links, modes and times', async () => {
    const made = await workspace.exec(`cd ${dir}/tree && umask 022 && ${TREE}`)
    expect(made).toMatchObject({ exitStatus: 0, stderr: '' })
    const before = await run(SNAPSHOT, `${dir}/tree`)
    expect(before.split('\n').length).toBeGreaterThan(15)
    const archive = workspace.files.downloadArchive(`${dir}/tree`)
    await workspace.files.uploadArchive(`${dir}/new/copy`, archive, { createParents: true })
    expect(await run(SNAPSHOT, `${dir}/new/copy`)).toBe(before)
  })

  test('files of the target stay unless the archive has them', async () => {
    await run('mkdir target && cd target && echo old > both && echo kept > other')
    const archive = pack((at) => writeFileSync(join(at, 'both'), 'new\n'), 'both')
    await workspace.files.uploadArchive(`${dir}/target`, new Blob([Buffer.from(archive)]))
    expect(await run('cat both other', `${dir}/target`)).toBe('new\nkept\n')
  })

  test('an archive is extracted while it arrives', async () => {
    const archive = pack(
      (at) => {
        for (const name of ['first', 'second']) writeFileSync(join(at, name), Buffer.alloc(300_000, name))
      },
      'first',
      'second',
    )
    const halves = async function* () {
      yield archive.subarray(0, 400_000)
      await waitFor('the first file', async () => (await run('ls flow')).includes('first'))
      yield archive.subarray(400_000)
    }
    await workspace.files.uploadArchive(`${dir}/flow`, halves(), { createParents: true })
    expect(await run('cat flow/first flow/second | wc -c')).toMatch(/^\s*600000\n$/)
  })

  test('an archive has the data of sparse files, but not their holes', async () => {
    const made = await run(
      `mkdir holes && cd holes && ${SPARSE_TREE} && stat -c '%b' * | awk '{ n += $1 } END { print n }'`,
    )
    const dataBytes = 512 * Number(made)
    expect(dataBytes).toBeLessThan(2 ** 20)
    const archive = await download(`${dir}/holes`)
    // BusyBox writes the zeros of holes.
    if (kind !== 'BusyBox') expect(archive.length).toBeLessThan(dataBytes + 64 * 1024)
    await workspace.files.uploadArchive(`${dir}/filled`, archive, { createParents: true })
    const digests = "cksum * && stat -c '%n %s' *"
    expect(await run(digests, `${dir}/filled`)).toBe(await run(digests, `${dir}/holes`))
    if (kind !== 'BusyBox') {
      const blocks = await run("stat -c '%b' * | awk '{ n += $1 } END { print n }'", `${dir}/filled`)
      expect(512 * Number(blocks)).toBeLessThan(dataBytes + 64 * 1024)
    } else {
      const sparse = pack(
        (at) => {
          writeFileSync(join(at, 'vol'), '')
          truncateSync(join(at, 'vol'), 2 ** 20)
        },
        '--sparse',
        'vol',
      )
      await expect(workspace.files.uploadArchive(dir, sparse)).rejects.toMatchObject({
        code: 'FILE_CONFLICT',
        message: `${dir}: the archive has sparse files, which require GNU tar; install it`,
      })
    }
    await run('rm -r holes filled')
  })

  test('a client that leaves ends the program inside', async () => {
    await run('mkdir huge && head -c 64000000 /dev/zero > huge/file')
    for await (const piece of workspace.files.downloadArchive(`${dir}/huge`)) {
      expect(piece.length).toBeGreaterThan(0)
      break
    }
    const packing =
      "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done | grep -c '^tar .*-cf'"
    if (kind === 'docker') await expect.poll(() => run(packing)).toBe('0\n')
    await run('rm -r huge')
  })

  test('a hostile archive touches nothing but the workspace', async () => {
    const outside = tempDir()
    const victim = join(outside, 'victim')
    writeFileSync(victim, 'untouched')
    const archive = pack(
      (at) => {
        symlinkSync(outside, join(at, 'link'))
        mkdirSync(join(at, 'plain'))
        writeFileSync(join(at, 'plain/victim'), 'hostile')
        writeFileSync(join(at, 'last'), 'x')
      },
      '--transform=s,^plain/victim$,link/victim,',
      '--transform=s,^last$,../../../../../../../../hostile-of-a-test,',
      'link',
      'plain/victim',
      'last',
    )
    await workspace.files.mkdir(`${dir}/hostile`)
    const extracted = workspace.files.uploadArchive(`${dir}/hostile`, archive)
    // Tools differ in what they refuse, and inside there is nothing to protect.
    await extracted.catch((error: unknown) => expect(error).toMatchObject({ status: expect.any(Number) }))
    if (kind === 'docker') expect(readFileSync(victim, 'utf8')).toBe('untouched')
    expect(existsSync('/hostile-of-a-test')).toBe(false)
    rmSync(victim)
  })

  test('errors name the reason', async () => {
    await run('mkdir -p errors && echo > errors/plain && mkdir errors/plain-as-directory')
    const { files } = workspace
    const valid = pack((at) => writeFileSync(join(at, 'plain-as-directory'), 'x'), 'plain-as-directory')
    const codeOf = (promise: Promise<unknown>) =>
      promise.then(
        () => 'none',
        (error: { code: string; status: number }) => `${error.code} ${error.status}`,
      )
    expect(await codeOf(download(`${dir}/none`))).toBe('FILE_NOT_FOUND 404')
    expect(await codeOf(download(`${dir}/errors/plain`))).toBe('FILE_CONFLICT 409')
    expect(await codeOf(files.uploadArchive(`${dir}/none`, valid))).toBe('FILE_NOT_FOUND 404')
    expect(await codeOf(files.uploadArchive(`${dir}/errors/plain`, valid))).toBe('FILE_CONFLICT 409')
    expect(await codeOf(files.uploadArchive(`${dir}/errors`, valid))).toBe(
      kind === 'BusyBox' ? 'FILE_CONFLICT 409' : 'none',
    )
    expect(await codeOf(files.uploadArchive(`${dir}/errors`, Buffer.alloc(5_000, 'x')))).toBe(
      'INVALID_ARCHIVE 400',
    )
    const large = pack((at) => writeFileSync(join(at, 'large'), Buffer.alloc(500_000)), 'large')
    expect(await codeOf(files.uploadArchive(`${dir}/errors`, large.subarray(0, 300_000)))).toBe(
      'INVALID_ARCHIVE 400',
    )
    const response = await fetch(
      `${server.url}/api/workspaces/${workspace.name}/files/archive?path=${dir}/errors`,
      { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } },
    )
    expect(response.status).toBe(400)
  })

  // The fake's programs have the rights of the tester.
  test.runIf(kind === 'docker')('what the user may not read or write is refused', async () => {
    const archive = pack((at) => writeFileSync(join(at, 'new'), 'x'), 'new')
    await expect(workspace.files.uploadArchive('/etc', archive)).rejects.toMatchObject({
      code: 'FILE_DENIED',
    })
    await expect(download('/root')).rejects.toMatchObject({ code: 'FILE_DENIED' })
    await run('mkdir part; echo > part/closed; chmod 0 part/closed')
    // The response has begun.
    await expect(download(`${dir}/part`)).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' })
  })
})
