import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { identityOf } from '../../../src/lib/process/process-identity.ts'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { findSupervisorConfig } from '../../../src/supervisor/config-file/find-config.ts'
import { supervisorUser } from '../../support/supervisor/supervisor-cli.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Starts somebody else's server, which records the tokens that it receives. */
async function stranger() {
  const tokens: (string | undefined)[] = []
  const server = createServer(({ headers }, reply) => {
    tokens.push(headers.authorization)
    reply.end('{"processes": []}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return { tokens, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test(
  'a client finds the supervisor and its token by its record, wherever its config puts them',
  { tags: ['long'] },
  async () => {
    const user = await supervisorUser(
      { web: { cmd: 'exec sleep 1000' } },
      { api: { port: 0, token: 'always', token_file: 'secret' }, state_dir: 'elsewhere' },
    )
    await user.supervisor('up', '-d')
    const { status, stdout } = await user.supervisor('ps')
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ processes: [{ name: 'web' }] })
    const { recordDir } = findSupervisorConfig(user.environment, { cwd: user.dir })
    const record = JSON.parse(readFileSync(join(recordDir, 'server.json'), 'utf8'))
    // Another address gets the token only if the user names both.
    const { url, tokens } = await stranger()
    await user.supervisor('--url', url, 'ps')
    await user.supervisor('--url', url, '--token-file', 'secret', 'ps')
    expect(tokens).toEqual([undefined, `Bearer ${readFileSync(join(user.dir, 'secret'), 'utf8').trim()}`])
    expect((await user.supervisor('--url', record.url, 'ps')).status).toBe(0)
    expect((await user.supervisor('down')).status).toBe(0)
    expect(readdirSync(recordDir)).not.toContain('server.json')
  },
)

test.each([
  ['has exited', { pid: 2 ** 22 + 1 }],
  ['had its process id before another process', { began: '1' }],
  ['ran before a reboot', { boot: 'another' }],
  ['has the process id 0', { pid: 0 }],
  ['has the id of a process group', { pid: -process.pid }],
])('V9 no token is sent on behalf of a supervisor that %s', { tags: ['long'] }, async (_what, wrong) => {
  const user = await supervisorUser({})
  const { url, tokens } = await stranger()
  const tokenFile = join(user.dir, 'token')
  writeFileSync(tokenFile, 'x'.repeat(40), { mode: 0o600 })
  const { recordDir } = findSupervisorConfig(user.environment, { cwd: user.dir })
  mkdirSync(recordDir, { recursive: true })
  const write = (identity: object): void =>
    writeFileSync(join(recordDir, 'server.json'), JSON.stringify({ process: identity, url, tokenFile }))
  const identity = identityOf(process.pid)
  write({ ...identity, ...wrong })
  expect(await user.supervisor('ps')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('no supervisor is running for'),
  })
  expect(tokens).toEqual([])
  write(identity)
  expect((await user.supervisor('ps')).status).toBe(0)
  expect(tokens).toEqual([`Bearer ${'x'.repeat(40)}`])
})

const isRoot = process.getuid?.() === 0

type Careless = readonly [string, (file: string) => void, string]

const anothers: readonly Careless[] = isRoot
  ? [
      [
        "another user's file",
        (file) => {
          writeFileSync(file, 'processes: {}\n')
          chownSync(file, 65_534, 65_534)
        },
        'it belongs to another user, 65534',
      ],
    ]
  : []

const careless: readonly Careless[] = [
  ['a link', (file: string) => symlinkSync('other.yaml', file), 'it is a symbolic link'],
  [
    'a file that everybody may write',
    (file) => {
      writeFileSync(file, 'processes: {}\n')
      chmodSync(file, 0o666)
    },
    'it is writable by every user',
  ],
  ['too large a file', (file: string) => writeFileSync(file, '#'.repeat(300_000)), 'more than 262144'],
  ...anothers,
]

test.each(careless)(
  'V9 %s in the current folder is not used unless the user names it',
  (_what, make, sentence) => {
    const cwd = tempDir()
    writeFileSync(join(cwd, 'other.yaml'), 'processes: {}\n')
    const file = join(cwd, 'supervisor.yaml')
    make(file)
    const environment = { HOME: dirname(cwd) }
    expect(() => loadSupervisorConfig(environment, { cwd })).toThrow(sentence)
    expect(() => loadSupervisorConfig(environment, { cwd })).toThrow('name it with --config')
    expect(loadSupervisorConfig(environment, { cwd, file }).config.processes).toEqual([])
  },
)
