import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadAnalyzerConfig } from '../../../src/analyzer/config.ts'
import { BuildToolCache } from '../../../src/analyzer/project/build-tool-cache.ts'
import { resolveClassPath } from '../../../src/analyzer/project/class-path.ts'
import { findProjectRoot } from '../../../src/analyzer/project/find-root.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { tempDir } from '../../support/temp-dir.ts'

const logger = createLogger({ level: 'silent', format: 'json' })

/** Returns the project's own entries in mode `jar`. */
async function entriesOf(root: string, classes: readonly string[] = []): Promise<readonly string[]> {
  const config = loadAnalyzerConfig({ HOME: tempDir() }, { server: { mode: 'jar' }, classes })
  const cache = new BuildToolCache(tempDir())
  const { entries } = await resolveClassPath(config, root, logger, new AbortController().signal, cache)
  return entries.filter(({ source }) => source === 'PROJECT').map(({ path }) => path)
}

function projectWith(file: string): string {
  const root = tempDir()
  mkdirSync(join(root, 'bin'))
  writeFileSync(join(root, 'analyzer.yml'), file)
  return root
}

it('class folders that are named replace those that are found', async () => {
  const root = projectWith('')
  expect(await entriesOf(root)).toEqual([join(root, 'bin')])
  expect(await entriesOf(root, ['build-output/classes', '/elsewhere/a.jar'])).toEqual([
    join(root, 'build-output/classes'),
    '/elsewhere/a.jar',
  ])
})

it("a project's file names class folders, and settings of the user come first", async () => {
  const root = projectWith('classes: [build-output/classes, bazel-bin/core.jar]')
  expect(findProjectRoot(join(root, 'bin'))).toBe(root)
  expect(await entriesOf(root)).toEqual([
    join(root, 'build-output/classes'),
    join(root, 'bazel-bin/core.jar'),
  ])
  expect(await entriesOf(root, ['other'])).toEqual([join(root, 'other')])
})

it.each([
  ['classes: [../other/classes]', '"../other/classes", which is outside of the project'],
  ['classes: [a/../../b]', '"a/../../b", which is outside'],
  ['classes: [/etc]', '"/etc", which is outside'],
  ['jvm_home: /tmp/evil', 'unknown key "jvm_home"'],
  ['classes: {', 'cannot be read'],
])("A9 a project's file with %j is refused", async (file, expected) => {
  await expect(entriesOf(projectWith(file))).rejects.toThrow(expected)
})
