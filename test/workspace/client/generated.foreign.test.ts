import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { foreignProgram, openApiGenerator, versionOf } from '../../support/foreign/clients.ts'
import { removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { runProgram } from '../../support/workspace/ssh/open-ssh.ts'
import { makeTempDir } from '../../support/temp-dir.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const programs = join(packageRoot, 'test/fixtures/foreign/generated')
const python = foreignProgram('openapi-python-client')
const generator = openApiGenerator()
const directory = makeTempDir()
const description = join(directory.path, 'openapi.json')
const name = uniqueName('generated')
let server: TestServer

beforeAll(async () => {
  server = await startWorkspaceServer()
  writeFileSync(description, await (await fetch(`${server.url}/openapi.json`)).text())
})
afterAll(async () => {
  await removeLeftovers(name)
  await server.stop()
  directory.remove()
})

const run = (program: string, argv: readonly string[], cwd = directory.path): string =>
  execFileSync(program, argv, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

const answers = {
  backend: 'docker',
  status: 'running',
  isListed: true,
  lines: true,
  deleted: 204,
  errors: ['WORKSPACE_NOT_FOUND', 'INVALID_WORKSPACE_NAME'],
  images: true,
}

describe(`openapi-python-client ${versionOf([python, '--version'])}`, () => {
  test('a generated client creates, lists, reads and deletes a workspace', async () => {
    run(python, ['generate', '--path', description, '--meta', 'none', '--output-path', 'workspace_client'])
    copyFileSync(join(programs, 'use.py'), join(directory.path, 'use.py'))
    expect(JSON.parse(await concurrently(foreignProgram('python'), ['use.py']))).toEqual(answers)
  })
})

describe(`OpenAPI Generator ${versionOf([...generator, 'version'])} for Go`, () => {
  test('a generated client creates, lists, reads and deletes a workspace', async () => {
    const module = join(directory.path, 'go')
    const client = join(module, 'client')
    mkdirSync(client, { recursive: true })
    const options = [
      '--additional-properties=packageName=client,isGoSubmodule=false',
      '--global-property=apiTests=false',
    ]
    const [program = '', ...argv] = generator
    run(program, [...argv, 'generate', '-i', description, '-g', 'go', '-o', client, ...options])
    for (const file of ['go.mod', 'go.sum']) execFileSync('rm', ['-f', join(client, file)])
    execFileSync('rm', ['-rf', join(client, 'test')])
    copyFileSync(join(programs, 'use.go'), join(module, 'use.go'))
    writeFileSync(join(module, 'go.mod'), 'module generated\n\ngo 1.24.0\n')
    run('go', ['build', '-o', 'use', '.'], module)
    expect(JSON.parse(await concurrently(join(module, 'use'), []))).toEqual(answers)
  })
})

/** Runs a client while the server in this process answers. */
async function concurrently(program: string, argv: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram('env', [
    '-C',
    directory.path,
    program,
    ...argv,
    server.url,
    name,
  ])
  if (status !== 0) throw new Error(stderr.slice(-2000))
  return stdout.toString()
}
