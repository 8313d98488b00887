import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { allBlobs, unfinishedBlobs, wholeBlobs } from '../../support/workspace/machine/images.ts'
import { testKernel } from '../../support/vm/vm-parts.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { convertTar, converter, pack, tinyTree } from '../../support/workspace/machine/tiny-image.ts'

describe('hostile archives', () => {
  /** Creates an archive with a hostile entry name before a harmless one. */
  function hostile(make: (entry: { add: (options: string) => void }) => void): string {
    const archive = join(tempDir(), 'hostile.tar')
    const script: string[] = ['import io, sys, tarfile', `t = tarfile.open(${JSON.stringify(archive)}, "w")`]
    make({
      add: (options) =>
        script.push(
          `i = tarfile.TarInfo(); d = b""; ${options}; i.size = len(d); t.addfile(i, io.BytesIO(d))`,
        ),
    })
    script.push('t.close()')
    execFileSync('python3', ['-c', script.join('\n')])
    return archive
  }

  const victim = () => {
    const path = join(tempDir(), 'victim')
    writeFileSync(path, 'untouched')
    return path
  }

  const CASES: readonly (readonly [string, (path: string) => readonly string[]])[] = [
    ['climbs', (path) => [`i.name = "../../../../../../../../..${path}"; d = b"hit"`]],
    ['climbs from below', (path) => [`i.name = "a/b/../../../../../../../../../../..${path}"; d = b"hit"`]],
    ['is absolute', (path) => [`i.name = "${path}"; d = b"hit"`]],
    [
      'writes through an absolute link',
      (path) => [
        `i.name = "l"; i.type = tarfile.SYMTYPE; i.linkname = "${join(path, '..')}"`,
        'i.name = "l/victim"; d = b"hit"',
      ],
    ],
    [
      'writes through a climbing link',
      (path) => [
        `i.name = "l"; i.type = tarfile.SYMTYPE; i.linkname = "../../../../../../../../../../..${join(path, '..')}"`,
        'i.name = "l/victim"; d = b"hit"',
      ],
    ],
    [
      'writes through a link to a link',
      (path) => [
        `i.name = "a"; i.type = tarfile.SYMTYPE; i.linkname = "${join(path, '..')}"`,
        'i.name = "b"; i.type = tarfile.SYMTYPE; i.linkname = "a"',
        'i.name = "b/victim"; d = b"hit"',
      ],
    ],
    [
      'is a link to a file that it then overwrites',
      (path) => [
        `i.name = "f"; i.type = tarfile.SYMTYPE; i.linkname = "${path}"`,
        'i.name = "f"; d = b"hit"',
      ],
    ],
    [
      'hard-links to a file and overwrites it',
      (path) => [
        `i.name = "h"; i.type = tarfile.LNKTYPE; i.linkname = "${path}"`,
        'i.name = "h"; d = b"hit"',
      ],
    ],
    [
      'replaces our directories with links that point outside',
      (path) => [
        `i.name = "opt"; i.type = tarfile.SYMTYPE; i.linkname = "${join(path, '..')}"`,
        `i.name = "lib"; i.type = tarfile.SYMTYPE; i.linkname = "${join(path, '..')}"`,
        `i.name = "etc"; i.type = tarfile.SYMTYPE; i.linkname = "../../../../../../../../../../..${join(path, '..')}"`,
      ],
    ],
    [
      'enables our units behind a link that points outside',
      (path) => [
        'i.name = "usr/lib/systemd/systemd"',
        `i.name = "etc/systemd/system/multi-user.target.wants"; i.type = tarfile.SYMTYPE; i.linkname = "${join(path, '..')}"`,
      ],
    ],
    [
      'uses a file of this machine as its kernel',
      () => [
        'i.name = "boot/"; i.type = tarfile.DIRTYPE; i.mode = 0o755',
        'i.name = "boot/vmlinuz-1"; i.type = tarfile.SYMTYPE; i.linkname = "/etc/shadow"',
      ],
    ],
  ]

  test.each(CASES)('an archive that %s changes nothing outside', async (_how, entries) => {
    const path = victim()
    const above = join(path, '..')
    const archive = hostile(({ add }) => entries(path).forEach(add))
    const parts = await converter()
    const made = await convertTar(parts, archive).catch((error: unknown) => error)
    expect(readFileSync(path, 'utf8')).toBe('untouched')
    expect(readdirSync(above)).toEqual(['victim'])
    expect(unfinishedBlobs(parts.store)).toEqual([])
    if (made instanceof Error) expect(made).toMatchObject({ code: 'BACKEND_ERROR' })
    else expect(wholeBlobs(parts.store)).toHaveLength(1)
  })

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['random bytes', Buffer.from('8f00ff10c3284be2'.repeat(100), 'hex')],
    ['half an archive', undefined],
  ])('an archive that is %s is refused and leaves nothing behind', async (_what, content) => {
    const archive = join(tempDir(), 'bad.tar')
    writeFileSync(archive, content ?? readFileSync(pack(tinyTree())).subarray(0, 100_000))
    const parts = await converter()
    await expect(convertTar(parts, archive)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
    expect(allBlobs(parts.store)).toEqual([])
  })

  test('a link among an image’s modules does not copy a file of this machine into the initrd', async () => {
    const tree = tinyTree()
    const { file, modules } = testKernel()
    mkdirSync(join(tree, 'boot'))
    mkdirSync(join(tree, 'lib/modules'), { recursive: true })
    execFileSync('cp', [file, join(tree, 'boot/vmlinuz-1')])
    execFileSync('cp', ['-a', modules, join(tree, 'lib/modules/1')])
    const path = victim()
    const module = join(tree, 'lib/modules/1/kernel/fs/overlayfs/overlay.ko')
    rmSync(module)
    symlinkSync(path, module)
    const parts = await converter()
    await expect(convertTar(parts, pack(tree))).rejects.toThrow(/no such file/)
    expect(allBlobs(parts.store)).toEqual([])
  })
})
