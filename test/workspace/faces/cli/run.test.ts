import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { cliServer } from '../../../support/workspace/client/cli-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { CLI, spawnCli } from '../../../support/workspace/client/workspace-cli.ts'

const { environment, cli, server, backend } = cliServer('other')
const names = async (): Promise<readonly string[]> =>
  (await server().api('workspaces')).body.workspaces
    .map(({ name }: { readonly name: string }) => name)
    .filter((name: string) => name !== 'other')
beforeEach(async () => {
  backend.before.clear()
  for (const name of await names()) await server().api(`workspaces/${name}`, 'DELETE')
})

test('run passes arguments, input, output and status on, and --rm deletes the workspace', async () => {
  const { status, stdout } = await cli('run', '--rm', '--', 'printf', '%s|', 'two words', '$HOME', "it's")
  expect({ status, stdout }).toEqual({ status: 0, stdout: "two words|$HOME|it's|" })
  expect((await cli('run', '--rm', '--', 'sh', '-c', 'exit 7')).status).toBe(7)
  const piped = await run('sh', ['-c', `echo piped | ${CLI.join(' ')} run --rm cat`], {
    environment: environment(),
  })
  expect(piped.stdout).toBe('piped\n')
  expect(await names()).toEqual([])
})

test('run without --rm keeps the workspace and names it', { tags: ['long'] }, async () => {
  const { status, stderr } = await cli('run', '--name', 'kept', '--label', 'a=b', '--', 'true')
  expect(status).toBe(0)
  expect(stderr).toContain('workspace rm kept')
  expect(await names()).toEqual(['kept'])
  const again = await cli('run', '--rm', '--name', 'kept', '--', 'true')
  expect(again.stderr).toContain('already exists')
  // Only a workspace that the command created is deleted.
  expect(await names()).toEqual(['kept'])
})

test(
  'run --artifact copies files before it deletes the workspace, also after a failure',
  { tags: ['long'] },
  async () => {
    const cwd = tempDir()
    const script = 'mkdir -p out/deep; echo a > out/deep/a; echo b > b; exit 3'
    const argv = ['run', '--rm', '--artifact', 'out', '--artifact', 'b', '--', 'sh', '-c', script]
    const line = [...CLI, ...argv].map((word) => `'${word}'`).join(' ')
    const ended = await run('sh', ['-c', `cd '${cwd}' && ${line}`], { environment: environment() })
    expect(ended.status).toBe(3)
    expect(readFileSync(join(cwd, 'out/deep/a'), 'utf8') + readFileSync(join(cwd, 'b'), 'utf8')).toBe(
      'a\nb\n',
    )
    expect(await names()).toEqual([])
    const missing = await cli('run', '--rm', '--artifact', 'absent', '--', 'true')
    expect(missing.status).toBe(1)
    expect(missing.stderr).toContain('absent')
    expect(existsSync(join(cwd, 'absent'))).toBe(false)
    expect(await names()).toEqual([])
  },
)

test.each(['SIGINT', 'SIGTERM'] as const)(
  'run --rm deletes the workspace after %s',
  { tags: ['long'] },
  async (signal) => {
    const running = spawnCli(['run', '--rm', '--', 'sh', '-c', 'echo up; sleep 60'], environment())
    await waitFor('its output', () => running.stdout().includes('up'))
    running.child.kill(signal)
    if (signal === 'SIGINT') running.child.kill('SIGTERM')
    await running.exit
    await expect.poll(names).toEqual([])
  },
)

test('an interrupted creation is cancelled', { tags: ['long'] }, async () => {
  let hasBegun = false
  backend.before.set('started', async (aborted) => {
    hasBegun = true
    await new Promise<void>((resolve) => aborted?.addEventListener('abort', () => resolve()))
  })
  const running = spawnCli(['run', '--rm', '--', 'true'], environment())
  await waitFor('the creation', () => hasBegun)
  running.child.kill('SIGINT')
  expect(await running.exit).toBe(130)
  await waitFor('the end of the workspace', async () => (await names()).length === 0)
})
