import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageVersion } from '../../../../src/lib/process/package.ts'
import { analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'
import { tempDir } from '../../../support/temp-dir.ts'

test('version and --version print the version', async () => {
  const user = analyzerUser()
  expect(await user.json('version')).toEqual({ version: packageVersion() })
  expect(await user.analyzer('--version')).toMatchObject({ status: 0, stdout: `${packageVersion()}\n` })
  expect(await user.analyzer('version', '--table')).toMatchObject({ stdout: `${packageVersion()}\n` })
})

test.each([
  [['clases', 'list'], "error: unknown command 'clases'\n(Did you mean classes?)"],
  [['classes', 'lst'], "error: unknown command 'lst'"],
  [['list', '--jsn'], "error: unknown option '--jsn'"],
  [['classes', 'show'], "error: missing required argument 'fqn'"],
  [['start', '--mode', 'fast'], 'Allowed choices are auto, buildtool, jar.'],
  [['start', '--port', '70000'], 'It must be a port'],
  [['start', '--port', '80'], 'It must be a port from 1024 to 65535'],
  [['start', '--port', '1023'], 'It must be a port from 1024 to 65535'],
  [['classes', 'list', '--page', 'x'], 'It must be a whole number'],
  [
    ['annotations', 'usages', 'p.A', '--scope', 'package'],
    'Allowed choices are class, method, field, param, all.',
  ],
  [['deps', '--format', 'png'], 'Allowed choices are json, dot'],
  [['xref', 'p.A', '--kind', 'BOGUS'], 'Allowed choices are EXTENDS, IMPLEMENTS, FIELD, '],
  [['xref', 'p.A', '--size', '0'], 'It must be a whole number of at least 1'],
  [['path', 'p.A', 'p.B', '--limit', '-1'], 'It must be a whole number of at least 1'],
  [['path', 'p.A', 'p.B', '--max-depth', '0'], 'It must be a whole number of at least 1'],
  [['deps', 'foundation', '--min-dependents', 'x'], 'It must be a whole number of at least 1'],
  [['list', '--json', '--table'], "'--json' and '--table' cannot be combined"],
  [['--json', 'list', '--table'], "'--json' and '--table' cannot be combined"],
  [['calls', 'p.A', '--descriptor', '()V'], '--descriptor selects an overload and requires --method'],
])('%j is invalid usage: exit status 2', async (argv, said) => {
  const { status, stdout, stderr } = await analyzerUser().analyzer(...argv)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain(said)
})

test.each(['start', 'restart'])(
  '%s with paths that it cannot use is invalid usage: exit status 2',
  async (command) => {
    const user = analyzerUser()
    const root = builtProject()
    const missing = join(root, 'missing')
    for (const [argv, said] of [
      [['--project-jvm', missing], `--project-jvm: "${missing}" does not exist`],
      [['--project-jvm', root], `--project-jvm: "${root}" is not the home of a JVM`],
      [['--project-jvm', join(root, 'pom.xml')], `pom.xml" is not the home of a JVM`],
      [['--server-jar', missing], `--server-jar: "${missing}" does not exist`],
      [['--server-jar', root], `--server-jar: "${root}" is not a file`],
      [['--classes', missing], `--classes: "${missing}" does not exist`],
    ] as const) {
      const { status, stderr } = await user.analyzer(command, '-p', root, ...argv)
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(said) as string })
    }
    expect(user.records()).toEqual([])
  },
)

test('a configured JVM that does not exist is reported by start and diff', async () => {
  const user = analyzerUser({ ANALYZER_JVM_HOME: '/missing' })
  const root = builtProject()
  const classes = join(root, 'target/classes')
  const start = await user.analyzer('start', '-p', root)
  expect(start.status).toBe(4)
  expect(start.stderr).toContain("jvm_home: '/missing' does not exist")
  const diff = await user.analyzer('diff', classes, classes)
  expect(diff.status).toBe(2)
  expect(diff.stderr).toContain('jvm_home: "/missing" does not exist')
})

test('outside of a project: exit status 3 for every command that needs one', async () => {
  const user = analyzerUser()
  const folder = tempDir()
  const commands = [
    ['start'],
    ['stop'],
    ['status'],
    ['restart'],
    ['refresh'],
    ['project'],
    ['classes', 'list'],
    ['deps'],
  ]
  const ends = await Promise.all(commands.map((argv) => user.analyzer(...argv, '-p', folder)))
  for (const { status, stderr } of ends) {
    expect(status).toBe(3)
    expect(stderr).toContain('has a build definition file (pom.xml, build.gradle …)')
  }
  expect((await user.analyzer('status', '-p', join(folder, 'nowhere'))).status).toBe(3)
  expect((await user.analyzer('list')).status).toBe(0)
})

test('without a server: exit status 7 for every command that needs one', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const commands = [
    ['stop'],
    ['status'],
    ['refresh'],
    ['project'],
    ['classes', 'stats'],
    ['methods', 'search'],
    ['xref', 'p.A'],
    ['deps', 'foundation'],
  ]
  const ends = await Promise.all(commands.map((argv) => user.analyzer(...argv, '-p', root)))
  expect(ends.map(({ status }) => status)).toEqual(commands.map(() => 7))
})

test.each([
  'build.gradle',
  'build.gradle.kts',
  'settings.gradle',
  'settings.gradle.kts',
  'build.xml',
  'build.sbt',
  'BUILD',
  'BUILD.bazel',
  'MODULE.bazel',
  'WORKSPACE',
  'WORKSPACE.bazel',
  'build.mill',
  'build.sc',
  'analyzer.yml',
])('%s marks a folder as a project', async (name) => {
  const { findProjectRoot } = await import('../../../../src/analyzer/project/find-root.ts')
  const root = tempDir()
  writeFileSync(join(root, name), '')
  expect(findProjectRoot(root)).toBe(root)
})

test('an invalid environment is reported with the variable', async () => {
  const user = analyzerUser({ ANALYZER_SERVER__IDLE_TIMEOUT: 'soon' })
  const { status, stderr } = await user.analyzer('start', '-p', builtProject())
  expect(status).toBeGreaterThan(0)
  expect(stderr).toContain('idle_timeout')
})

test('a query for a missing class: exit status 1 and one line', async () => {
  const user = analyzerUser()
  const root = builtProject()
  await user.json('start', '-p', root)
  expect(await user.analyzer('classes', 'show', 'no.Such', '-p', root)).toMatchObject({
    status: 1,
    stdout: '',
    stderr:
      'analyzer: class "no.Such" is not in the project, its libraries or its JDK, and no class mentions it\n',
  })
  expect((await user.analyzer('classes', 'list', '--size', '10001', '-p', root)).status).toBe(0)
})
