import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { BuildDiff } from '../../../../src/analyzer/diff/diff-builds.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { analyzerUser } from '../../../support/analyzer/analyzer-cli.ts'
import { tempDir } from '../../../support/temp-dir.ts'

/** A jar with one class, compiled by javac. */
async function jarOf(source: string): Promise<string> {
  const root = tempDir()
  const file = join(root, 'Shop.java')
  writeFileSync(file, source)
  mkdirSync(join(root, 'classes'))
  expect((await run('javac', ['-d', join(root, 'classes'), file])).status).toBe(0)
  expect((await run('jar', ['cf', join(root, 'shop.jar'), '-C', join(root, 'classes'), '.'])).status).toBe(0)
  return join(root, 'shop.jar')
}

test('diff needs no server, explains why a change breaks, and sets the requested exit status', async () => {
  const user = analyzerUser()
  const old = await jarOf('package shop; public class Shop { public int size() { return 1; } int hidden; }')
  const now = await jarOf('package shop; public class Shop { public long size() { return 1; } }')
  const diff = await user.json<BuildDiff>('diff', old, now)
  expect(diff).toEqual({
    old,
    new: now,
    compatible: false,
    changes: [
      {
        classFqn: 'shop.Shop',
        member: 'size()',
        descriptor: '()I',
        change: 'METHOD_RETURN_TYPE_CHANGED',
        from: 'int',
        to: 'long',
        compatible: false,
        rule: 'JLS 13.4.15 Method Result Type',
        why: 'the descriptor differs: NoSuchMethodError',
      },
    ],
    changeCount: 1,
    incompatibleCount: 1,
    problems: [],
  })
  const all = await user.json<BuildDiff>('diff', '--all', old, now)
  expect(all.changes.map(({ member, compatible }) => [member, compatible])).toEqual([
    ['hidden', true],
    ['size()', false],
  ])
  expect((await user.analyzer('diff', old, now)).status).toBe(0)
  expect((await user.analyzer('diff', '--fail-on', 'incompatible', old, now)).status).toBe(1)
  expect((await user.analyzer('diff', '--fail-on', 'any', old, old)).status).toBe(0)
  expect((await user.analyzer('diff', '--table', old, now)).stdout).toMatch(
    /breaks +shop\.Shop +size\(\) +METHOD_RETURN_TYPE_CHANGED int → long +JLS 13\.4\.15: .*\n\n1 change, 1 incompatible/,
  )
  expect(user.records()).toEqual([])
})

test('diff rejects a path that is not a build', async () => {
  const user = analyzerUser()
  const empty = tempDir()
  const missing = await user.analyzer('diff', join(empty, 'old.jar'), empty)
  expect(missing).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/does not exist; give a jar or class folder/),
  })
  expect(await user.analyzer('diff', empty, empty)).toMatchObject({
    status: 2,
    stderr: `analyzer: "${empty}" contains no classes\n`,
  })
})
