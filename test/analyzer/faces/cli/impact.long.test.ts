import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { analyzerUser } from '../../../support/analyzer/analyzer-cli.ts'
import { compile, ImpactProgram } from '../../../support/analyzer/impact-program.ts'
import { Random } from '../../../support/differential/random.ts'
import { tempDir } from '../../../support/temp-dir.ts'

test('impact compares with a revision and with a build, and selects tests', async () => {
  const root = join(tempDir(), 'shop')
  const old = join(tempDir(), 'old')
  new ImpactProgram(new Random(1)).write(root)
  compile(root)
  cpSync(root, old, { recursive: true })
  const git = (...argv: readonly string[]) => execFileSync('git', argv, { cwd: root, stdio: 'ignore' })
  git('init', '-q')
  git('add', 'src', 'pom.xml')
  git('-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '-q', '-m', 'old')
  const file = join(root, 'src/test/java/gen/T1.java')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/int x = base;/, 'int x = base + 1;'))
  compile(root)

  const user = analyzerUser({ PATH: process.env['PATH'] ?? '' })
  await user.json('start', '-p', root, '--mode', 'jar')
  const impact = (...argv: readonly string[]) => user.analyzer('impact', '-p', root, ...argv)
  const selected = '-Dtest=gen.T1#t0 -Dsurefire.failIfNoSpecifiedTests=false\n'
  for (const version of [
    ['--since', 'HEAD'],
    ['--against', old],
  ]) {
    expect(await impact(...version, '--tests', 'maven')).toMatchObject({ status: 0, stdout: selected })
    expect((await impact(...version, '--tests', 'gradle')).stdout).toBe(':test --tests gen.T1.t0\n')
    const found = await impact(...version, '--from', 'test')
    expect(found.status).toBe(1)
    expect(JSON.parse(found.stdout)).toMatchObject({ testCount: 1, endpointCount: 0 })
    expect((await impact(...version, '--table')).stdout).toContain('changed itself')
  }
  expect((await impact('--against', join(root, 'target'))).status).toBe(0)
  expect(await impact('--since', 'HEAD', '--against', old)).toMatchObject({ status: 2 })
  expect(await impact()).toMatchObject({ status: 2 })
  expect(await impact('--since', 'missing')).toMatchObject({ status: 2 })
  expect(await impact('--since', 'HEAD', '--from', 'missing.Class')).toMatchObject({ status: 2 })
})
