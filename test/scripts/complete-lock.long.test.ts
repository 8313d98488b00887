import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { tempDir } from '../support/temp-dir.ts'

const SCRIPT = join(packageRoot, 'scripts/complete-lock.mjs')
const STRONG = `sha512-${'A'.repeat(86)}==`

/** Creates a folder with a lock of these entries and this list of exceptions. */
function folder(entries: Readonly<Record<string, object>>, excused: readonly string[] = []): string {
  const dir = tempDir()
  mkdirSync(join(dir, 'scripts'))
  writeFileSync(join(dir, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...entries } }))
  writeFileSync(join(dir, 'scripts/lock-without-integrity.json'), JSON.stringify(excused))
  return dir
}

const check = (cwd: string, flag = '--check') => run(process.execPath, [SCRIPT, flag], { cwd })

test.each<[string, object]>([
  ['without a hash', {}],
  ['with a weak hash', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }],
  ['with an empty hash', { integrity: '' }],
  ['with a cut hash', { integrity: 'sha512-AAAA' }],
  ['for another platform', { optional: true, os: ['darwin'], cpu: ['x64'] }],
  ['of the tools', { dev: true }],
  ['from a folder', { resolved: 'file:x.tgz' }],
  ['from git', { resolved: 'git+ssh://git@example/x.git#1' }],
])('a package %s fails the check', async (_what, entry) => {
  for (const place of ['node_modules/a', 'node_modules/@x/y', 'node_modules/b/node_modules/a']) {
    const { status, stderr } = await check(folder({ [place]: { version: '1.0.0', ...entry } }))
    expect([status, stderr]).toEqual([1, expect.stringContaining('package-lock.json has no sha512 of ')])
    expect(stderr).toContain(`${/(?:@x\/)?[ay]$/.exec(place)?.[0]}@1.0.0`)
  }
})

test('packages with a hash, links and bundled packages pass', async () => {
  const dir = folder({
    'node_modules/a': { version: '1.0.0', integrity: STRONG },
    'node_modules/b': { link: true, resolved: 'packages/b' },
    'packages/b': { version: '1.0.0' },
    'node_modules/a/node_modules/c': { version: '1.0.0', inBundle: true },
  })
  expect(await check(dir)).toMatchObject({ status: 0, stderr: '' })
  expect((await check(dir, '--release')).status).toBe(0)
})

test('an exception is valid for one version, not for a release, and only while it is needed', async () => {
  const entry = { 'node_modules/a': { version: '1.0.0' } }
  expect((await check(folder(entry, ['a@1.0.0']))).status).toBe(0)
  expect((await check(folder(entry, ['a@1.0.0']), '--release')).status).toBe(1)
  expect((await check(folder(entry, ['a@1.0.1']))).status).toBe(1)
  const done = await check(folder({}, ['a@1.0.0']))
  expect([done.status, done.stderr]).toEqual([1, expect.stringContaining('excuses a@1.0.0 unnecessarily')])
})

test('hashes from the registry are added, missing ones become exceptions', async () => {
  const dir = folder({ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } })
  const npm = join(dir, 'npm')
  writeFileSync(npm, `#!/bin/sh\n[ "$2" = a@1.0.0 ] && echo '${STRONG}' || exit 1\n`)
  chmodSync(npm, 0o755)
  const { status } = await run(process.execPath, [SCRIPT], { cwd: dir, environment: { PATH: `${dir}:/bin` } })
  expect(status).toBe(0)
  const { packages } = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8'))
  expect(packages['node_modules/a'].integrity).toBe(STRONG)
  expect(await check(dir)).toMatchObject({ status: 0 })
  expect((await check(dir, '--release')).stderr).toContain('has no sha512 of b@2.0.0')
})

test("the project's own lock passes", async () => {
  expect(await check(packageRoot)).toMatchObject({ status: 0, stderr: '' })
})
