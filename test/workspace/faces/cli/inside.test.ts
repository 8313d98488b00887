import { relative } from 'node:path'
import { expect, test } from 'vitest'
import { cliServer } from '../../../support/workspace/client/cli-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { spawnCli } from '../../../support/workspace/client/workspace-cli.ts'
import { makeWorkspace } from '../../../support/workspace/server/test-server.ts'

const { backend, server, environment, cli } = cliServer('dev')

test.each([
  [['ssh', 'dev', '--', 'echo', 'one'], 'one\n', 0],
  [['ssh', 'dev', '--', 'echo', '--', 'one'], '-- one\n', 0],
  [['ssh', 'dev', 'echo', '--', 'one'], '-- one\n', 0],
  [['ssh', '--no-forward', 'dev', '--', 'exit', '7'], '', 7],
  [
    ['exec', 'dev', 'printf', '[%s]', 'a b', "it's", '$HOME', '', '*', '\\n', '--', '-l'],
    "[a b][it's][$HOME][][*][\\n][--][-l]",
    0,
  ],
  [['exec', 'dev', '--', 'printf', '[%s]', '--', 'two\nlines'], '[--][two\nlines]', 0],
  [['exec', 'dev', 'sh', '-c', 'exit 9'], '', 9],
])('%j passes its arguments and exit status through', async (argv, stdout, status) => {
  const done = await cli(...argv)
  expect([done.stdout, done.status, done.stderr]).toEqual([stdout, status, ''])
})

test('logs prints the requested number of lines without control characters', { tags: ['long'] }, async () => {
  backend.printed = 'first\nsecond\n\u001B[31mthird\n'
  const { stdout } = await cli('logs', 'dev', '--table', '-n', '2')
  expect(stdout.split('\n')).toEqual([
    expect.stringContaining('second'),
    expect.stringContaining('third'),
    '',
  ])
  expect(stdout).not.toContain('\u001B')
  expect(JSON.parse((await cli('logs', 'dev')).stdout).lines).toHaveLength(3)
  const { status, stderr } = await cli('logs', 'dev', '-n', '0')
  expect([status, stderr]).toEqual([1, 'workspace: "lines" must be a whole number from 1 to 1000, not "0"\n'])
})

test('logs -f prints new lines as they appear, until the workspace stops', async () => {
  await makeWorkspace(server().url, { name: 'followed' })
  backend.printed = 'old\nlast\n'
  const { exit, stdout, stderr } = spawnCli(['logs', 'followed', '-f', '-n', '1'], environment())
  await expect.poll(stdout).toBe('{"line":"last"}\n')
  backend.printed += '\u001B[31mnew\n'
  await expect.poll(stdout).toBe('{"line":"last"}\n{"line":"new"}\n')
  await server().api('workspaces/followed/stop', 'POST')
  expect([await exit, stderr()]).toEqual([0, ''])
})

test('ports lists open ports', async () => {
  const { status, stdout } = await cli('ports', 'dev')
  expect([status, JSON.parse(stdout)]).toEqual([0, { ports: expect.any(Array) }])
})

test('create --local-dir resolves a relative directory', { tags: ['long'] }, async () => {
  const directory = tempDir()
  const { stdout } = await cli('create', 'here', '--local-dir', relative(process.cwd(), directory))
  expect(JSON.parse(stdout)).toMatchObject({ local_dir: directory })
})
