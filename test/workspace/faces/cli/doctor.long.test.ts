import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { userEnvironment } from '../../../support/workspace/client/workspace-cli.ts'

/** Runs `$@` in a copy of this system, whose changes are written to the directory `$1` only. */
const IN_COPY = `set -e
copy=$1; shift
mkdir -p "$copy/upper" "$copy/work" "$copy/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$copy/upper,workdir=$copy/work" "$copy/root"
for each in proc sys dev run; do mount --rbind "/$each" "$copy/root/$each"; done
mkdir -p "$copy/root$ROOT" "$copy/root$REPOSITORY"
mount --bind "$ROOT" "$copy/root$ROOT"
mount --bind "$REPOSITORY" "$copy/root$REPOSITORY"
exec chroot "$copy/root" env --chdir="$ROOT" "$@"`

/** Makes a repository of Debian with one package, which contains a file of this system. */
async function makeRepository(folder: string, name: string, file: string): Promise<void> {
  const tree = join(folder, 'tree')
  mkdirSync(join(tree, 'DEBIAN'), { recursive: true })
  const control = `Package: ${name}\nVersion: 999\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: ${name}\n`
  writeFileSync(join(tree, 'DEBIAN/control'), control)
  await run('cp', ['--parents', file, tree])
  await run('dpkg-deb', ['--build', '--root-owner-group', tree, join(folder, 'package.deb')])
  const bytes = readFileSync(join(folder, 'package.deb'))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  writeFileSync(
    join(folder, 'Packages'),
    `${control}Filename: ./package.deb\nSize: ${bytes.length}\nSHA256: ${sha256}\n`,
  )
}

test.runIf(process.getuid?.() === 0 && existsSync('/usr/bin/apt-get'))(
  'doctor --fix installs a package that is missing, and then finds what it contains',
  async () => {
    // World-readable, because apt reads repositories as another user.
    const folder = mkdtempSync('/var/tmp/doctor-')
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const repository = join(folder, 'repository')
    await makeRepository(repository, 'nftables', '/usr/sbin/nft')
    await run('chmod', ['-R', 'a+rX', folder])
    const environment = { ...userEnvironment(), ROOT: packageRoot, REPOSITORY: repository }
    const inside = (...argv: readonly string[]) =>
      run('unshare', ['--mount', 'sh', '-c', IN_COPY, 'sh', join(folder, 'copy'), ...argv], { environment })
    const sources = `rm -rf /etc/apt/sources.list.d && echo 'deb [trusted=yes] file:${repository} ./' >/etc/apt/sources.list`
    const purged = await inside('sh', '-c', `dpkg --purge --force-depends nftables && ${sources}`)
    expect(purged).toMatchObject({ status: 0 })

    const firewall = async (...options: readonly string[]) => {
      const program = join(packageRoot, 'dist/src/bin/workspace.js')
      const { stdout, stderr } = await inside(process.execPath, program, 'doctor', '--json', ...options)
      const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly name: string }[] }
      return { stderr, check: checks.find(({ name }) => name === 'firewall') }
    }
    expect((await firewall()).check).toMatchObject({ ok: false, repair: { package: 'nftables' } })
    const fixed = await firewall('--fix')
    expect(fixed.stderr).toContain('apt-get install nftables …')
    expect(fixed.check).toMatchObject({ ok: true })
    expect((await firewall()).check).toMatchObject({ ok: true })
  },
)
