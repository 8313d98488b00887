import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { docker, uniqueName } from '../../../support/engine/docker.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { CLI, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const SERVE = `use IO::Socket::INET;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 5, ReuseAddr => 1) or die;
while (my $client = $server->accept) { print $client "hello from inside"; close $client }`

// The workspace has its own network, so a port inside is not a port of this machine.
test('ssh forwards the ports listed in devcontainer.json while the shell is open', async () => {
  const server = await startWorkspaceServer()
  onTestFinished(() => server.stop())
  const name = uniqueName('ports')
  const port = await freePort()
  const directory = tempDir()
  chmodSync(directory, 0o755)
  writeFileSync(join(directory, '.devcontainer.json'), JSON.stringify({ forwardPorts: [port] }))
  await server.create({ name, local_dir: directory })
  onTestFinished(() => server.api(`workspaces/${name}`, 'DELETE').then(() => undefined))
  await docker('exec', '-d', `ws-${name}`, 'perl', '-e', SERVE, String(port))

  const environment = userEnvironment({ WORKSPACE_URL: server.url })
  const visit = async () => {
    const socket = connect(port, '127.0.0.1')
    return text(socket).catch(() => 'nobody')
  }
  const shell = spawn(CLI[0], [CLI[1], 'ssh', name], { env: environment })
  onTestFinished(() => void shell.kill('SIGKILL'))
  await waitFor('the forward', async () => (await visit()) === 'hello from inside')
  // A second shell finds the port in use and does not forward it.
  const second = await workspaceCli(['ssh', name, 'echo', 'second'], environment)
  expect([second.status, second.stdout, second.stderr]).toEqual([0, 'second\n', ''])
  shell.stdin.end('exit 3\n')
  expect(await new Promise((resolve) => shell.once('exit', resolve))).toBe(3)
  expect(await visit()).toBe('nobody')

  const without = spawn(CLI[0], [CLI[1], 'ssh', '--no-forward', name], { env: environment })
  onTestFinished(() => void without.kill('SIGKILL'))
  without.stdin.write('echo here\n')
  await new Promise((resolve) => without.stdout.once('data', resolve))
  expect(await visit()).toBe('nobody')
  without.stdin.end()
})
