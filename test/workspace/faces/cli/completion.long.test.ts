import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { makeTempDir } from '../../../support/temp-dir.ts'
import { CLI, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
/** Folder with a program `workspace`, and the scripts. */
const folder = makeTempDir()
beforeAll(async () => {
  server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { templates: { web: {}, wide: {} } },
  })
  for (const name of ['demo', 'docs', 'other']) await makeWorkspace(server.url, { name })
  const program = join(folder.path, 'workspace')
  writeFileSync(program, `#!/bin/sh\nexec ${CLI.join(' ')} "$@"\n`)
  chmodSync(program, 0o755)
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

/** Programs that load a completion script and print what it offers for a line. */
const SHELLS = {
  bash: [
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _workspace; printf "%s\\n" "${COMPREPLY[@]}"',
  ],
  // Prints what zsh would match itself.
  zsh: [
    'compdef() { : }; compadd() { print -l -- "${@:2}" }; source "$1"; shift; words=("$@"); CURRENT=$#; _workspace',
  ],
  fish: ['source $argv[1]; set -l line (string join " " -- $argv[2..]); complete -C "$line"'],
} as const

describe.each(Object.keys(SHELLS) as (keyof typeof SHELLS)[])('the completion of %s', (shell) => {
  /** Returns what is offered for the last word. */
  async function offered(url: string, ...words: readonly string[]): Promise<readonly string[]> {
    const script = join(folder.path, shell)
    if (!existsSync(script)) writeFileSync(script, (await workspaceCli(['completion', shell])).stdout)
    const environment = userEnvironment({
      WORKSPACE_URL: url,
      PATH: `${folder.path}:${process.env['PATH']}`,
    })
    const line = ['-c', ...SHELLS[shell], shell === 'fish' ? '--' : shell, script, 'workspace', ...words]
    const { stdout, stderr } = await run(shell, line, { environment })
    expect(stderr).toBe('')
    const found = stdout.split('\n').map((each) => each.split('\t')[0] ?? '')
    return found.filter((each) => each !== '' && each.startsWith(words.at(-1) ?? '')).toSorted()
  }

  test.each([
    [['st'], ['start', 'stop']],
    [['create', 'demo', '--rep'], ['--repo']],
    [['list', '--se'], ['--server']],
    [['ls', '-s', 'near', '--js'], ['--json']],
    [
      ['start', ''],
      ['demo', 'docs', 'other'],
    ],
    [
      ['start', 'd'],
      ['demo', 'docs'],
    ],
    [['rm', '--keep-volume', 'do'], ['docs']],
    [['show', '-s', 'near', 'ot'], ['other']],
    [
      ['create', 'new', '--template', 'w'],
      ['web', 'wide'],
    ],
    [['sessions', 'attach', 'de'], ['demo']],
    [['snapshot', 'show', 'd'], []],
    [['create', 'd'], []],
    [['show', 'demo', 'd'], []],
    [
      ['start', 'demo', 'd'],
      ['demo', 'docs'],
    ],
    [['start', '$(touch x)'], []],
  ])('offers after %j %j', async (words, expected) => {
    expect(await offered(server.url, ...words)).toEqual(expected)
  })

  test('offers nothing and prints no error without a server', async () => {
    expect(await offered('http://127.0.0.1:1', 'start', '')).toEqual([])
  })
})

test('names that a shell would expand are not printed', async () => {
  const environment = userEnvironment({ WORKSPACE_URL: server.url })
  const ask = (...kind: readonly string[]) =>
    workspaceCli(['completion', 'bash', '--values', ...kind], environment)
  expect(await ask('workspaces')).toMatchObject({ status: 0, stdout: 'demo\ndocs\nother\n', stderr: '' })
  expect(await ask('ports', '../../..')).toMatchObject({ status: 0, stdout: '', stderr: '' })
  expect(await ask('nonsense')).toMatchObject({ status: 0, stdout: '', stderr: '' })
})
