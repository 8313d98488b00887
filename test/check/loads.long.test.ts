import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it, test } from 'vitest'
import { cheapHash } from '../support/content/cheap-hash.ts'
import { loadedPackages } from '../support/check/loaded-packages.ts'
import { tempDir } from '../support/temp-dir.ts'

// Loading modules is most of a program's start. Times differ between machines; loaded modules do not.

function environmentIn(home: string): NodeJS.ProcessEnv {
  return {
    PATH: dirname(process.execPath),
    HOME: home,
    XDG_RUNTIME_DIR: home,
    XDG_CONFIG_HOME: home,
    XDG_CACHE_HOME: home,
  }
}

it.each([
  ['workspace', ['--version'], []],
  ['workspace', ['--help'], []],
  ['workspace', ['list'], []],
  ['supervisor', ['--help'], []],
  ['supervisor', ['ps'], []],
  ['supervisor', ['config', 'check'], []],
  ['content-server', ['--help'], []],
  ['content-server', ['config', 'check'], []],
  ['analyzer', ['--help'], []],
  ['analyzer', ['list'], []],
])('%s %j loads only the modules that read its arguments', async (program, argv, more) => {
  const packages = await loadedPackages(program, argv, environmentIn(tempDir()))
  expect(packages).toEqual(['commander', ...more])
})

test('a command loads the YAML parser only for a config file', async () => {
  const home = tempDir()
  writeFileSync(join(home, 'supervisor.yaml'), 'processes: {}')
  const packages = await loadedPackages('supervisor', ['config', 'check'], environmentIn(home))
  expect(packages).toEqual(['commander', 'yaml'])
})

/** Modules that a server needs only for certain requests or settings. */
const FOR_LATER = [
  '@aws-sdk/client-s3',
  '@aws-sdk/client-sts',
  '@fastify/ajv-compiler',
  '@fastify/busboy',
  '@fastify/swagger',
  '@fastify/swagger-ui',
  '@modelcontextprotocol/sdk',
  '@nats-io/transport-node',
  '@run-slicer/vf',
  'ajv',
  'croner',
  'diff',
  'eventsource-parser',
  'htmlparser2',
  'ioredis',
  'node:http',
  'openid-client',
  'pino-pretty',
  'prettier',
  'yaml',
]

it.each([
  ['workspace', ['serve', '--http-port', '0', '--ssh-port', '0'], /server is ready/],
  ['supervisor', ['up', '--port', '0'], /supervisor is ready/],
  ['content-server', ['serve', '--port', '0'], /content server is ready/],
  ['analyzer', ['serve', '--project', '.', '--mode', 'jar'], /ANALYZER_READY/],
])('the server run by %s %j loads no module that it needs only later', async (program, argv, ready) => {
  const home = tempDir()
  writeFileSync(join(home, 'pom.xml'), '<project/>')
  // A configuration without YAML.
  writeFileSync(join(home, 'Procfile'), 'web: sleep 1000\n')
  const environment = { ...environmentIn(home), CONTENT_PASSWORD_HASH: cheapHash('right') }
  const packages = await loadedPackages(program, argv, environment, ready)
  expect(packages).toContain('fastify')
  expect(packages.filter((name) => FOR_LATER.includes(name))).toEqual([])
})
