import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { dockerBackend, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { installInterpreters } from '../../support/workspace/guest/interpreters.ts'
import { tempDir } from '../../support/temp-dir.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
})
afterAll(() => server.stop())

const MODULE = join(packageRoot, 'src/workspace/client/sdk/connect.ts')
const page = readFileSync(join(packageRoot, 'docs/workspace/sdk.md'), 'utf8')
const [first = '', second = ''] = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, example]) => example)

async function play(example: string, directory: string, workspaceName: string) {
  const file = join(directory, 'example.mts')
  writeFileSync(
    file,
    example.replace('workspace-suite/client', MODULE).replaceAll("'demo'", `'${workspaceName}'`),
  )
  const environment = { PATH: process.env['PATH'], HOME: directory, WORKSPACE_URL: server.url }
  return run(process.execPath, [file], { cwd: directory, environment })
}

test('the examples of the page work', { tags: ['long'] }, async () => {
  const own = uniqueName('sdk-page')
  onTestFinished(() => removeLeftovers(own))
  const directory = tempDir()
  expect(await play(first, directory, own)).toMatchObject({
    status: 0,
    stdout: '0 Hello!\n\n1\n2\n3\n',
  })
  expect(await leftovers(own)).toEqual([])
  writeFileSync(join(directory, 'large.bin'), randomBytes(300_000))
  await makeWorkspace(server.url, { name: own })
  const { status, stdout, stderr } = await play(second, directory, own)
  expect(status, stderr).toBe(0)
  const lengths = stdout.trim().split('\n').map(Number)
  expect(lengths.reduce((sum, each) => sum + each, 0)).toBe(300_000)
})

test('the examples of the page about code work', { tags: ['long'] }, async () => {
  const own = uniqueName('code-page')
  onTestFinished(() => removeLeftovers(own))
  await makeWorkspace(server.url, { name: own })
  await installInterpreters(await connect({ url: server.url }).get(own))
  const text = readFileSync(join(packageRoot, 'docs/workspace/code.md'), 'utf8')
  const [shell = '', typescript = ''] = [...text.matchAll(/```(?:sh|ts)\n([^]*?)```/g)].map(
    ([, each]) => each,
  )
  const script = shell.replace('http://127.0.0.1:8080', server.url).replace('/demo/', `/${own}/`)
  const { stdout } = await run('bash', ['-ec', script.replaceAll('"$code"', '-w "\\n" "$code"')])
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { results: { data: object }[] })
  expect(answers.map(({ results }) => results.map(({ data }) => data))).toEqual([
    [],
    [{ 'text/plain': '12.566370614359172' }],
    [{ 'text/plain': '[ 1, 2 ]', 'application/json': '[1,2]' }],
  ])
  expect(await play(typescript, tempDir(), own)).toMatchObject({ status: 0, stdout: '12 null\n0\n1\n2\n' })
})

test('it loads neither packages nor native code', async () => {
  const script = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({
      resolve(name, context, next) {
        const found = next(name, context)
        urls.push(found.url)
        return found
      },
    })
    process.dlopen = () => { throw new Error('loads native code') }
    const { connect } = await import(${JSON.stringify(MODULE)})
    await connect({ url: ${JSON.stringify(server.url)} }).info()
    console.log(JSON.stringify(urls))`
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script])
  const urls = JSON.parse(stdout || `["${stderr}"]`) as string[]
  expect(urls.length).toBeGreaterThan(5)
  expect(urls.filter((url) => /node_modules|src\/native|\.node$/.test(url))).toEqual([])
})
