import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import ssh2 from '../../../../src/lib/ssh/ssh2.ts'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { openSsh, type OpenSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../../support/wait-for.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const name = uniqueName('terminal')
let server: TestServer
let ssh: OpenSsh

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  ssh = await openSsh(server)
  await makeWorkspace(server.url, { name })
})
afterAll(async () => {
  await server.api(`workspaces/${name}`, 'DELETE')
  ssh.remove()
  await server.stop()
})

/** Runs OpenSSH on a terminal of 33 lines and 101 columns. */
function atTerminal(...command: readonly string[]) {
  return atTerminalWith('', ...command)
}

/** Runs OpenSSH on a terminal that a shell's line has set. */
function atTerminalWith(preparation: string, ...command: readonly string[]) {
  const words = ['ssh', ...ssh.argv(name, '-tt'), ...command].map((word) => `'${word}'`).join(' ')
  const line = `stty rows 33 cols 101; ${preparation}\nexec ${words}`
  const child = spawn('script', ['-qefc', line, '/dev/null'], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()))
  return {
    child: child as ChildProcess,
    type: (keys: string) => void child.stdin.write(keys),
    shows: (what: string | RegExp) =>
      waitFor(`${String(what)} on the screen`, () =>
        typeof what === 'string' ? screen.includes(what) : what.test(screen),
      ).catch((error: unknown) => {
        throw new Error(`the screen shows: ${screen}`, { cause: error })
      }),
    ended: once(child, 'exit').then(([status]) => status as number),
  }
}

/** Logs in with ssh2. */
async function connected(): Promise<ssh2.Client> {
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  client.connect({
    host: '127.0.0.1',
    port: server.sshPort,
    username: name,
    privateKey: readFileSync(ssh.keyFile),
  })
  await once(client, 'ready')
  return client
}

test('a shell has a terminal of the client’s size and type and exits with its own status', async () => {
  const terminal = atTerminal()
  terminal.type('stty size; echo "[$TERM]" $((20+22)); tty\n')
  await terminal.shows('33 101')
  await terminal.shows(/\[\S+\] 42/)
  await terminal.shows(/\/dev\/pts\/\d+/)
  terminal.type('exit 7\n')
  expect(await terminal.ended).toBe(7)
})

test('SSH_TTY names the terminal, and is not set without one', async () => {
  const terminal = atTerminal('echo "[$SSH_TTY]" "[$(tty)]"')
  await terminal.shows(/\[(\/dev\/pts\/\d+)\] \[\1\]/)
  const { stdout } = await ssh.run(name, 'echo "[${SSH_TTY-none}]"')
  expect(stdout.toString()).toBe('[none]\n')
})

test.each([
  'intr ^X erase ^H -ixon iutf8',
  'intr 9 quit undef eof 200 eol 10 kill undef susp ^A -isig -icanon -echo',
  '-opost -icrnl istrip igncr inlcr ixany ixoff tostop noflsh ispeed 9600 ospeed 9600',
])('a terminal has the modes of the client’s: %s', async (settings) => {
  const terminal = atTerminalWith(`stty ${settings}; stty -g`, 'stty -g')
  // The same on both sides, with all flags and control characters.
  await terminal.shows(/^([\da-f:]+)\s+\1\s+$/)
  expect(await terminal.ended).toBe(0)
})

test('modes apply to what a client sends at once', async () => {
  const client = await connected()
  const modes = { ECHO: 0, ONLCR: 0 }
  const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
    client.exec('head -n 1', { pty: { modes } as ssh2.PseudoTtyOptions }, (error, opened) =>
      error ? reject(error) : resolve(opened),
    )
  })
  channel.write('typed\n')
  expect(await text(channel)).toBe('typed\n')
})

test('the interrupt key terminates the foreground program, not the shell', async () => {
  const terminal = atTerminal()
  // Between two programs the shell itself gets the key, and the next one may start all the same.
  terminal.type(`sh -c 'echo be"gun"; exec sleep 1000'\n`)
  await terminal.shows('begun')
  terminal.type('\u0003')
  terminal.type('echo status $?\n')
  await terminal.shows('status 130')
  terminal.type('exit 3\n')
  expect(await terminal.ended).toBe(3)
})

test('a command on a terminal prints standard output and standard error to it', async () => {
  const terminal = atTerminal('stty size; echo err"or" >&2; exit 9')
  await terminal.shows('33 101')
  await terminal.shows('error')
  expect(await terminal.ended).toBe(9)
})

test('a new window size reaches the shell', async () => {
  const client = await connected()
  const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
    client.shell({ rows: 20, cols: 70, term: 'vt100' }, (error, opened) =>
      error ? reject(error) : resolve(opened),
    )
  })
  let screen = ''
  channel.on('data', (chunk: Buffer) => (screen += chunk.toString()))
  channel.write('trap "stty size" WINCH; stty size; echo $TERM\n')
  await waitFor('the first size', () => screen.includes('20 70') && screen.includes('vt100'))
  channel.setWindow(50, 150, 0, 0)
  const refreshed = () => {
    channel.write('\n')
    return screen
  }
  await expect.poll(refreshed).toContain('50 150')
})

test('a client that disconnects leaves nothing of its terminal behind', async () => {
  const terminal = atTerminal()
  terminal.type('echo be"gun"; sleep 4711\n')
  await terminal.shows('begun')
  const count = async () => (await ssh.run(name, 'pgrep -xfc "sleep 4711"')).stdout.toString().trim()
  await waitFor('the program', async () => (await count()) === '1')
  terminal.child.kill('SIGKILL')
  await expect.poll(count).toBe('0')
})

test('the environment has the workspace’s user, home and shell', async () => {
  const { stdout } = await ssh.run(name, 'echo "$USER $HOME $SHELL"; pwd; id -un')
  expect(stdout.toString()).toBe('workspace /home/workspace /bin/bash\n/workspace\nworkspace\n')
})

test('a program killed by a signal exits with the shell’s status for it', async () => {
  expect(await ssh.run(name, 'kill -KILL $$')).toMatchObject({ status: 137 })
})

test('a stopped workspace reports that, and serves again after it is started', async () => {
  expect(await server.api(`workspaces/${name}/stop`, 'POST')).toMatchObject({ status: 200 })
  const { status, stderr } = await ssh.run(name, 'true')
  expect([status, stderr]).toEqual([
    255,
    `workspace "${name}" is stopped; start it with: workspace start ${name}\r\n`,
  ])
  expect(await server.api(`workspaces/${name}/start`, 'POST')).toMatchObject({ status: 200 })
  expect(await ssh.run(name, 'exit 5')).toMatchObject({ status: 5 })
})
