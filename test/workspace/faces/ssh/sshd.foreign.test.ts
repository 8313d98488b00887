import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fc } from '../../../support/fast-check.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { publicKey, runProgram } from '../../../support/workspace/ssh/open-ssh.ts'

/** Variables that differ from a session of sshd, and the reason. */
const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  PATH: 'that of the image, as every program of a workspace has it',
  LANG: 'that of the image',
  HOSTNAME: 'set by the engine',
  MAIL: 'a workspace has no mail',
  PWD: 'programs start in the folder of the files',
  OLDPWD: 'the same',
  MOTD_SHOWN: 'set by PAM',
  SSH_CLIENT: 'has the ports of the connection',
  SSH_CONNECTION: 'the same',
  SSH_TTY: 'has the number of the terminal',
}

let workspace: DockerSsh
let sshd: number

// The same user, files and shell: sshd runs inside the workspace, which has the network of the host.
beforeAll(async () => {
  workspace = await dockerSsh()
  sshd = await freePort()
  await workspace.inside(
    'sudo apt-get -q update && sudo apt-get -q install -y --no-install-recommends openssh-server',
  )
  await workspace.inside(
    'umask 077; mkdir -p ~/.ssh; cat >~/.ssh/authorized_keys',
    `${publicKey(workspace.ssh.keyFile)}\n`,
  )
  await workspace.inside(
    `sudo mkdir -p /run/sshd && sudo /usr/sbin/sshd -p ${sshd} -o ListenAddress=127.0.0.1 -o PidFile=none`,
  )
  await waitFor('sshd', async () => (await onBoth('true')).every(({ status }) => status === 0))
})
afterAll(() => workspace.remove())

/** Arguments of OpenSSH's client for the workspace's server, and for sshd. */
function clients(...flags: readonly string[]): readonly (readonly string[])[] {
  const { ssh, name } = workspace
  const unknown = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-p', String(sshd)]
  return [ssh.argv(name, ...flags), ssh.argv('workspace', ...unknown, '-o', `Port=${sshd}`, ...flags)]
}

/** Runs a command on both servers. */
const onBoth = async (command: string, ...flags: readonly string[]) =>
  Promise.all(clients(...flags).map(async (argv) => runProgram('ssh', [...argv, command])))

/** Runs a command on both servers in a terminal that has been set by stty. */
const inTerminals = async (settings: readonly string[], command: string) =>
  Promise.all(
    clients('-tt').map(async (argv) => {
      const words = ['ssh', ...argv, command].map((word) => `'${word}'`).join(' ')
      const script = `stty rows 33 cols 101 ${settings.join(' ')}; exec ${words}`
      // Its input stays open: script types its end into the terminal.
      const child = spawn('script', ['-qefc', script, '/dev/null'], {
        env: { ...process.env, TERM: 'vt220' },
      })
      return text(child.stdout)
    }),
  )

function variablesOf(output: string): Readonly<Record<string, string>> {
  const lines = output.split(/\r?\n/).filter((line) => line.includes('='))
  const entries = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
  return Object.fromEntries(entries.filter(([name = '']) => !(name in OTHER_VARIABLES)))
}

describe('a session is set up as by sshd', () => {
  test('the environment of a command', async () => {
    const [ours, theirs] = await onBoth('env', '-o', 'SendEnv=LC_TEST LANG', '-o', 'SetEnv=LC_OTHER=x')
    expect(variablesOf(String(ours?.stdout))).toEqual(variablesOf(String(theirs?.stdout)))
  })

  test('the environment of a command in a terminal', async () => {
    const [ours = '', theirs = ''] = await inTerminals([], 'env')
    expect(variablesOf(ours)).toEqual(variablesOf(theirs))
  })

  test.each([
    'exit 7',
    'cat; echo error >&2; exit 1',
    'umask; id -un; id -gn; echo ~ $0',
    'for n in 0 1 2; do [ -t $n ] && echo terminal; done; true',
    'sleep 0.1 & exec echo end',
    'no-such-program',
    'if',
    "printf 'a\\0b\\n'",
  ])('a command: %j', async (command) => {
    const answers = await onBoth(command)
    // sshd starts a shell by its name: engines cannot start a program by another name than its path.
    const named = (output: Buffer | string): string => String(output).replaceAll('/bin/bash', 'bash')
    const [ours, theirs] = answers.map(({ status, stdout, stderr }) => [status, named(stdout), named(stderr)])
    expect(ours).toEqual(theirs)
  })

  test('SSH_TTY names the terminal', async () => {
    for (const output of await inTerminals([], 'echo "[$SSH_TTY]" "[$(tty)]"')) {
      expect(output).toMatch(/^\[(\/dev\/pts\/\d+)\] \[\1\]\r\n$/)
    }
    for (const { stdout } of await onBoth('echo "[$SSH_TTY]"')) expect(String(stdout)).toBe('[]\n')
  })

  const FLAGS =
    'ignpar parmrk inpck istrip inlcr igncr icrnl iuclc ixon ixany ixoff imaxbel iutf8 isig icanon xcase echo echoe echok echonl noflsh tostop iexten echoctl echoke opost olcuc onlcr ocrnl onocr onlret'.split(
      ' ',
    )
  const CHARACTERS = 'intr quit erase kill eof eol eol2 start stop susp rprnt werase lnext'.split(' ')
  const flag = fc
    .tuple(fc.constantFrom(...FLAGS), fc.boolean())
    .map(([name, isOn]) => (isOn ? name : `-${name}`))
  const character = fc
    .tuple(
      fc.constantFrom(...CHARACTERS),
      fc.oneof(
        fc.integer({ min: 10, max: 254 }).map(String),
        fc.constantFrom('undef', '^A', '^H', '^I', '^?'),
      ),
    )
    .map((words) => words.join(' '))
  const speed = fc.constantFrom('speed 9600', 'speed 38400', 'speed 115200', 'speed 300')
  const settings = fc.array(
    fc.oneof({ weight: 6, arbitrary: flag }, { weight: 3, arbitrary: character }, speed),
    { maxLength: 12 },
  )

  test('the modes of the client’s terminal', async () => {
    for (const each of fc.sample(settings, 40)) {
      const [ours, theirs] = await inTerminals(each, 'stty -g')
      expect([each, ours]).toEqual([each, theirs])
    }
  })
})
