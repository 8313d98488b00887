import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { loadWorkspaceConfig } from '../../src/workspace/config.ts'
import { harden } from '../../src/workspace/harden.ts'
import { findServer } from '../../src/workspace/client/find-server.ts'
import { makeTempDir } from '../support/temp-dir.ts'
import { FakeBackend } from '../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer } from '../support/workspace/server/test-server.ts'

let home: string
beforeEach(() => {
  const { path, remove } = makeTempDir()
  home = path
  mkdirSync(join(home, '.ssh'))
  return remove
})

const configure = (more: object = {}) =>
  loadWorkspaceConfig({}, { flags: { state_dir: join(home, 'state'), hardened: true, ...more } }).config

function addKey(name: string): string {
  const file = join(home, '.ssh', name)
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
  return readFileSync(`${file}.pub`, 'utf8').trim()
}

test('a hardened server has a token, its user’s keys and a bus token, readable only by its user', async () => {
  const keys = [addKey('id_ed25519'), addKey('id_work')]
  const config = configure()
  await harden(config, home)
  const { http, ssh, bus } = config
  const files = [http.tokenFile ?? '', ssh.authorizedKeys ?? '', bus.tokenFile ?? '']
  for (const file of files) expect(statSync(file).mode & 0o077, file).toBe(0)
  expect(readFileSync(http.tokenFile ?? '', 'utf8').trim()).toMatch(/^[\w-]{43}$/)
  for (const key of keys) expect(readFileSync(ssh.authorizedKeys ?? '', 'utf8')).toContain(key)
  const busToken = readFileSync(bus.tokenFile ?? '', 'utf8')
  expect(busToken).toMatch(/^[\w-]{43}\n$/)
  await harden(config, home)
  expect(readFileSync(bus.tokenFile ?? '', 'utf8')).toBe(busToken)
})

test('explicit settings are kept', async () => {
  const named = join(home, 'named')
  writeFileSync(named, 'a-token-of-at-least-20-characters\n', { mode: 0o600 })
  const config = configure({
    http: { token_file: named },
    ssh: { authorized_keys: named },
    bus: { token: 'a token of the bus' },
  })
  await harden(config, home)
  expect(readdirSync(home).toSorted()).toEqual(['.ssh', 'named'])
  const { http, ssh, bus } = config
  expect([http.tokenFile, ssh.authorizedKeys, bus.token, bus.tokenFile]).toEqual([
    named,
    named,
    'a token of the bus',
    undefined,
  ])
})

test('a missing public key is an error with a remedy', async () => {
  await expect(harden(configure(), home)).rejects.toThrow(
    /contains no public key; run ssh-keygen, or set ssh\.authorized_keys/,
  )
})

test('two tokens of the bus are an error with a remedy', () => {
  expect(() => configure({ bus: { token: 'a token of the bus', token_file: 'named' } })).toThrow(
    'bus.token and bus.token_file are both set; remove one of them',
  )
})

test('without the setting nothing is created', async () => {
  await harden(configure({ hardened: false }), home)
  expect(readdirSync(home)).toEqual(['.ssh'])
})

test('a hardened server refuses clients without a token, and its user’s commands find it', async () => {
  addKey('id_ed25519')
  vi.stubEnv('HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const stateDir = join(home, 'share', 'workspace')
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { hardened: true },
    stateDir,
  })
  onTestFinished(() => server.stop())
  expect((await server.api('workspaces')).status).toBe(401)
  const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  expect((await server.api('workspaces', 'GET', undefined, headers)).status).toBe(200)
  if (process.getuid?.() === 0) return
  const found = await findServer({ XDG_DATA_HOME: join(home, 'share'), HOME: home }, undefined)
  expect(found).toMatchObject({ url: server.url, tokenFile: join(stateDir, 'token') })
})
