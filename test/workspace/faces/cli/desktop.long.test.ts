import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
  existsSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sshEntries, withSshBlock } from '../../../../src/workspace/faces/cli/desktop/ssh-config.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const TOKEN = 'a-token-of-sufficient-length'
const backend = new FakeBackend()
let server: TestServer
let guarded: TestServer
let tokenFile: string
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
  await makeWorkspace(server.url, { name: 'dev' })
  tokenFile = join(server.stateDir, 'client-token')
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 })
  const other = new FakeBackend()
  guarded = await startWorkspaceServer({
    backends: () => [other],
    settings: { http: { token_file: tokenFile } },
  })
  await fetch(`${guarded.url}/api/workspaces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: '{"name":"dev"}',
  })
})
afterAll(async () => {
  await server.stop()
  await guarded.stop()
})

/** A user of the server with programs that record their arguments. */
function user(programs: readonly string[] = [], extra: Readonly<Record<string, string>> = {}) {
  const environment = userEnvironment({ WORKSPACE_URL: server.url, ...extra })
  const home = environment['HOME'] as string
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const name of programs)
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\necho "${name} $*" > '${home}/started.tmp'; mv '${home}/started.tmp' '${home}/started'\n`,
      { mode: 0o755 },
    )
  environment['PATH'] = `${bin}:${environment['PATH']}`
  const config = join(home, '.ssh/config')
  return {
    home,
    config,
    cli: (...argv: readonly string[]) => workspaceCli(argv, environment),
    started: () => (existsSync(join(home, 'started')) ? readFileSync(join(home, 'started'), 'utf8') : ''),
  }
}

describe('open', () => {
  test('prints the URL of a port, and opens it where there is a display', async () => {
    const url = `http://3000--dev.localhost:${server.httpPort}/`
    const without = await user(['xdg-open']).cli('open', 'dev', '3000')
    expect([JSON.parse(without.stdout), without.stderr]).toEqual([{ url, opened: false }, ''])
    const { cli, started } = user(['xdg-open'], { DISPLAY: ':0' })
    expect(JSON.parse((await cli('open', 'dev', '3000', '--print')).stdout)).toEqual({ url, opened: false })
    expect((await cli('open', 'dev', '3000', '--table')).stdout).toBe(`${url}\n`)
    expect(JSON.parse((await cli('open', 'dev', '3000', '--valid-for', '2h')).stdout)).toEqual({
      url,
      opened: false,
    })
    expect((await cli('open', 'dev', '3000', '--valid-for', 'long')).stderr).toContain('a duration such as')
    expect((await cli('open', 'dev', '3000', '--valid-for', '8d')).stderr).toContain('604800')
    await expect.poll(started).toBe(`xdg-open ${url}\n`)
  })

  test('prints a URL with a ticket that admits a browser once if the server requires a token', async () => {
    const { cli } = user([], { WORKSPACE_URL: guarded.url, WORKSPACE_TOKEN_FILE: tokenFile })
    const { url } = JSON.parse((await cli('open', 'dev', '3000')).stdout)
    // fetch cannot send a Host header, and curl resolves *.localhost itself.
    const visit = async () => (await run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', url])).stdout
    expect(await visit()).toMatch(/^30\d$/)
    expect(await visit()).toBe('401')
  })

  test('reports a workspace that does not exist, and an invalid port', async () => {
    const { cli } = user()
    expect(await cli('open', 'nope', '3000')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('workspace "nope" does not exist'),
    })
    expect(await cli('open', 'dev', '99999')).toMatchObject({ status: 2 })
  })
})

describe('ssh-config', () => {
  const OTHER = '# mine\r\nServerAliveInterval 60\n\nHost \xff\xe9\n\tUser root'

  test('writes hosts that OpenSSH understands, and keeps everything else', async () => {
    const { cli: workspace, config } = user()
    mkdirSync(join(config, '..'), { mode: 0o700 })
    writeFileSync(config, OTHER, { encoding: 'latin1', mode: 0o644 })
    const first = await workspace('ssh-config')
    expect([JSON.parse(first.stdout), first.stderr]).toEqual([
      { file: config, changed: true, hosts: ['dev.workspace'] },
      '',
    ])
    const written = readFileSync(config, 'latin1')
    expect(written.endsWith(`\n${OTHER}`)).toBe(true)
    expect(statSync(config).mode & 0o777).toBe(0o600)
    const effective = execFileSync('ssh', ['-F', config, '-G', 'dev.workspace'], { encoding: 'utf8' })
    for (const line of [
      'user dev',
      'hostname 127.0.0.1',
      `port ${server.sshPort}`,
      'stricthostkeychecking true',
      'hostkeyalias workspace',
      'serveraliveinterval 60',
    ])
      expect(effective.split('\n')).toContain(line)
    const inside = await run('ssh', ['-F', config, 'dev.workspace', 'echo', 'inside'])
    expect([inside.status, inside.stdout]).toEqual([0, 'inside\n'])

    const again = await workspace('ssh-config')
    expect(JSON.parse(again.stdout)).toMatchObject({ changed: false })
    expect(readFileSync(config, 'latin1')).toBe(written)
    await workspace('ssh-config', '--remove')
    expect(readFileSync(config, 'latin1')).toBe(OTHER)
  })

  test('creates the file and its directory for their owner only', async () => {
    const { cli, config } = user()
    await cli('ssh-config')
    expect([statSync(join(config, '..')).mode & 0o777, statSync(config).mode & 0o777]).toEqual([0o700, 0o600])
  })

  test('replaces the target of a link', async () => {
    const { cli, config, home } = user()
    mkdirSync(join(home, '.ssh'))
    writeFileSync(join(home, 'dotfile'), OTHER, 'latin1')
    symlinkSync('../dotfile', config)
    await cli('ssh-config')
    expect(readlinkSync(config)).toBe('../dotfile')
    expect(readFileSync(join(home, 'dotfile'), 'latin1')).toContain('Host dev.workspace')
  })

  test('--print prints the block and writes nothing', async () => {
    const { cli, config } = user()
    const { stdout } = await cli('ssh-config', '--print', '--table')
    expect(stdout).toMatch(
      /^# >>> workspace[^]*\nHost dev\.workspace\n[^]*\nHost \*\n# <<< workspace ssh-config <<<\n$/,
    )
    expect(existsSync(config)).toBe(false)
  })

  test.each([
    '# >>> workspace ssh-config >>> x\nHost a\n',
    '# <<< workspace ssh-config <<<\n# >>> workspace ssh-config >>> x\n',
  ])('refuses marks that do not form one block: %j', async (damaged) => {
    const { cli } = user()
    const file = join(tempDir(), 'config')
    writeFileSync(file, damaged)
    const done = await cli('ssh-config', '--file', file)
    expect([done.status, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain('do not form one block; remove every line')
    expect(readFileSync(file, 'utf8')).toBe(damaged)
  })

  test('names of a hostile server cannot add settings', () => {
    const target = { host: 'h', port: 22, options: [['UserKnownHostsFile', '/a b/100%']] as const }
    const entries = sshEntries(['ok', 'x\n  ProxyCommand evil', '*', ''], target)
    expect(entries.match(/^Host .*$/gm)).toEqual(['Host ok.workspace'])
    expect(entries).not.toContain('ProxyCommand')
    expect(entries).toContain('UserKnownHostsFile "/a b/100%%"')
  })

  test('a block is replaced where it is, and removed completely', () => {
    const config = withSshBlock('Host x\n', 'Host a.workspace')
    const moved = `Host before\n${config}`
    expect(withSshBlock(withSshBlock(moved, 'Host b.workspace'), 'Host a.workspace')).toBe(moved)
    expect(withSshBlock(moved, undefined)).toBe('Host before\nHost x\n')
    expect(withSshBlock(withSshBlock('', 'Host a.workspace'), undefined)).toBe('')
  })
})

describe('code', () => {
  test.each([
    [
      'vscode',
      'code',
      '--remote ssh-remote+dev.workspace /workspace',
      'vscode://vscode-remote/ssh-remote+dev.workspace/workspace',
    ],
    [
      'cursor',
      'cursor',
      '--remote ssh-remote+dev.workspace /workspace',
      'cursor://vscode-remote/ssh-remote+dev.workspace/workspace',
    ],
    ['zed', 'zed', 'ssh://dev.workspace/workspace', 'zed://ssh/dev.workspace/workspace'],
  ])('starts %s after adding the host', async (editor, program, argv, url) => {
    const { cli, started, config } = user([program])
    const done = await cli('code', 'dev', '--editor', editor)
    expect([JSON.parse(done.stdout), done.stderr]).toEqual([{ url, editor, started: program }, ''])
    await expect.poll(started).toBe(`${program} ${argv}\n`)
    expect(readFileSync(config, 'utf8')).toContain('Host dev.workspace')
  })

  test('opens the URL of an editor without a command where there is a display', async () => {
    const { cli, started } = user(['xdg-open'], { WAYLAND_DISPLAY: 'wayland-0' })
    const url = `jetbrains-gateway://connect#host=127.0.0.1&port=${server.sshPort}&user=dev&type=ssh&deploy=true&projectPath=%2Fworkspace`
    const done = await cli('code', 'dev', '--editor', 'jetbrains')
    expect(JSON.parse(done.stdout)).toEqual({ url, editor: 'jetbrains', started: 'xdg-open' })
    await expect.poll(started).toBe(`xdg-open ${url}\n`)
  })

  test('--print prints the URL and changes nothing', async () => {
    const { cli, started, config } = user(['code'])
    expect((await cli('code', 'dev', '--print', '--table')).stdout).toBe(
      'vscode://vscode-remote/ssh-remote+dev.workspace/workspace\n',
    )
    expect([started(), existsSync(config)]).toEqual(['', false])
  })

  test('reports a workspace that does not exist, and lists the editors', async () => {
    const { cli, config } = user()
    expect(await cli('code', 'nope')).toMatchObject({ status: 1 })
    expect(existsSync(config)).toBe(false)
    const { status, stderr } = await cli('code', 'dev', '--editor', 'ed')
    expect([status, stderr]).toEqual([2, expect.stringContaining('vscode, cursor, jetbrains, zed')])
  })
})
