import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const page = readFileSync(join(packageRoot, 'docs/workspace/programs.md'), 'utf8')
const [program = '', background = '', files = ''] = [...page.matchAll(/```sh\n([^]*?)```/g)].map(
  ([, script]) => script,
)
const [, result = ''] = /```json\n([^]*?)```/.exec(page) ?? []

const name = uniqueName('page')
let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  await makeWorkspace(server.url, { name })
})
afterAll(async () => {
  await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
})

async function play(script: string, directory = tempDir()): Promise<string> {
  const own = script.replaceAll('http://127.0.0.1:8080', server.url).replaceAll('/demo/', `/${name}/`)
  const { status, stdout, stderr } = await run('sh', ['-ec', `cd '${directory}'; ${own}`])
  expect(status, stderr).toBe(0)
  return stdout
}

test('the first example has the result of the page', async () => {
  const duration = { duration_ms: expect.any(Number) }
  expect(JSON.parse(await play(program))).toEqual({ ...JSON.parse(result), ...duration })
})

test('the second example starts a process', async () => {
  expect(JSON.parse(await play(background))).toMatchObject({ command: 'make all', id: expect.any(String) })
})

test('the examples for files copy one there and back', async () => {
  const directory = tempDir()
  writeFileSync(join(directory, 'report.pdf'), 'content')
  mkdirSync(join(directory, 'site'))
  writeFileSync(join(directory, 'site', 'index.html'), 'page')
  expect(JSON.parse(await play(files, directory))).toMatchObject({
    files: [{ name: 'report.pdf', bytes: 7 }],
  })
  expect(readFileSync(join(directory, 'copy.pdf'), 'utf8')).toBe('content')
  const at = `${server.url}/api/workspaces/${name}/files`
  const { body } = await call(`${at}/list?path=.`)
  expect(body.files).toMatchObject([{ name: 'public' }])
  expect(await (await fetch(`${at}?path=public/site/index.html`)).text()).toBe('page')
})
