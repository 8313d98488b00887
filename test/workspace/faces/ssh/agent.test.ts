import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { dockerSsh, type DockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { fingerprint, makeKey } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

let world: DockerSsh

beforeAll(async () => {
  world = await dockerSsh()
})
afterAll(() => world.remove())

/** Starts a real agent with one key. */
function agent() {
  const directory = tempDir()
  const socket = join(directory, 'agent')
  const process = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' })
  onTestFinished(async () => {
    process.kill()
    // It removes its socket, which must not happen while the directory is being removed.
    await once(process, 'close')
  })
  const key = makeKey(directory, 'ed25519')
  const add = () =>
    waitFor('the agent', () => {
      try {
        execFileSync('ssh-add', ['-q', key], { env: { SSH_AUTH_SOCK: socket }, stdio: 'ignore' })
        return true
      } catch {
        return false
      }
    })
  return { socket, key, add }
}

const sockets = () => readdirSync(join(world.server.stateDir, 'inside', world.name))

test('programs inside use the client’s agent, and its socket is removed with the connection', async () => {
  const { socket, key, add } = agent()
  await add()
  const before = sockets()
  const { status, stdout, stderr } = await world.ssh.run(
    world.name,
    'ssh-add -l; stat -c "%a %U" "$SSH_AUTH_SOCK"; echo signed >~/file; ssh-add -L >~/key.pub; ssh-keygen -q -Y sign -f ~/key.pub -n test ~/file && cat ~/file.sig',
    { flags: ['-A'], environment: { SSH_AUTH_SOCK: socket } },
  )
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout.toString()).toContain(fingerprint(key))
  expect(stdout.toString()).toContain('\n600 workspace\n')
  expect(stdout.toString()).toContain('BEGIN SSH SIGNATURE')
  await waitFor('the socket to be removed', () => sockets().length <= Math.max(before.length, 3))
  const { stdout: left } = await world.ssh.run(world.name, 'echo "[$SSH_AUTH_SOCK]"', {
    environment: { SSH_AUTH_SOCK: socket },
  })
  // Another connection, which did not request forwarding.
  expect(left.toString()).toBe('[]\n')
})

test('many programs use the agent at once', { tags: ['long'] }, async () => {
  const { socket, key, add } = agent()
  await add()
  const { stdout } = await world.ssh.run(world.name, 'for i in $(seq 20); do ssh-add -l & done; wait', {
    flags: ['-A'],
    environment: { SSH_AUTH_SOCK: socket },
  })
  const lines = stdout.toString().trim().split('\n')
  expect(lines).toHaveLength(20)
  expect(lines.every((line) => line.includes(fingerprint(key)))).toBe(true)
})

test('a program in a terminal uses the agent too', async () => {
  const { socket, key, add } = agent()
  await add()
  const { stdout } = await world.ssh.run(world.name, 'ssh-add -l', {
    flags: ['-A', '-tt'],
    environment: { SSH_AUTH_SOCK: socket },
  })
  expect(stdout.toString()).toContain(fingerprint(key))
})

test('a workspace logs in elsewhere with the client’s agent, like git over ssh', async () => {
  const { socket, add } = agent()
  await add()
  const { address, hostKey } = await otherServer()
  const { status, stdout, stderr } = await world.ssh.run(
    world.name,
    `echo '${hostKey}' >~/hosts; ssh -o UserKnownHostsFile=~/hosts -o LogLevel=ERROR ${address} 'echo reached'`,
    { flags: ['-A'], environment: { SSH_AUTH_SOCK: socket } },
  )
  expect([status, stdout.toString(), stderr]).toEqual([0, 'reached\n', ''])
})

test(
  'a workspace without a shared directory refuses, and the command still runs',
  { tags: ['long'] },
  async () => {
    const { socket, add } = agent()
    await add()
    const other = await dockerSsh()
    onTestFinished(() => other.remove())
    // As in a workspace created by an earlier version.
    execFileSync('rm', ['-r', join(other.server.stateDir, 'inside', other.name)])
    const { status, stdout } = await other.ssh.run(other.name, 'echo "[$SSH_AUTH_SOCK]"', {
      flags: ['-A'],
      environment: { SSH_AUTH_SOCK: socket },
    })
    expect([status, stdout.toString()]).toEqual([0, '[]\n'])
  },
)

/** Logs in to the server from inside a workspace on the host's network, which requires a key. */
async function otherServer() {
  const { sshPort, url } = world.server
  const { host_key: hostKey } = (await (await fetch(`${url}/api/ssh-host-key`)).json()) as {
    host_key: string
  }
  return {
    address: `-p ${sshPort} ${world.name}@127.0.0.1`,
    hostKey: `[127.0.0.1]:${sshPort} ${hostKey}`,
  }
}
