import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { analyzerUser, builtProject } from '../../support/analyzer/analyzer-cli.ts'
import { smallJdk } from '../../support/analyzer/jdk.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Creates stand-ins for the project's build tool and JVM; each leaves a trace when run. */
function trapped() {
  const root = builtProject()
  const bin = tempDir()
  const trace = join(tempDir(), 'trace')
  const trap = (file: string): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\necho "$0" >> ${trace}\nexit 1\n`)
    chmodSync(file, 0o755)
  }
  for (const name of ['mvnw', 'gradlew', 'mvnw.cmd']) trap(join(root, name))
  for (const name of ['mvn', 'gradle', 'java', 'javac', 'jdeps', 'sbt', 'ant', 'sh', 'unzip'])
    trap(join(bin, name))
  writeFileSync(join(root, 'build.gradle'), `file('${trace}').text = 'run'`)
  const user = analyzerUser({
    PATH: `${bin}:${dirname(process.execPath)}`,
    ANALYZER_JVM_HOME: smallJdk(),
    JAVA_HOME: bin,
  })
  return { root, user, ran: () => existsSync(trace) }
}

test('A9 mode jar runs nothing of the project, its build tool or its JVM', async () => {
  const { root, user, ran } = trapped()
  await user.json('start', '-p', root, '--mode', 'jar')
  await user.json('refresh', '-p', root)
  expect((await user.json<any>('classes', 'stats', '-p', root)).jdkClassCount).toBeGreaterThan(6_000)
  expect(ran()).toBe(false)
})

test('A9 mode auto runs the build tool, and reports the outcome', { tags: ['long'] }, async () => {
  const { root, user, ran } = trapped()
  await user.json('start', '-p', root)
  expect(ran()).toBe(true)
  const stats = await user.json<any>('classes', 'stats', '-p', root)
  expect(stats.classpathResolvedBy).toBe('jar (mvnw: it exited with status 1)')
})
