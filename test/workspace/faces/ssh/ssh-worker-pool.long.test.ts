import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  workerProcesses,
  type DockerSsh,
  dockerSsh,
  residentBytes,
} from '../../../support/workspace/ssh/docker-ssh.ts'
import { docker } from '../../../support/engine/docker.ts'
import { waitFor } from '../../../support/wait-for.ts'

let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
})
afterAll(() => workspace.remove())

/** Starts ssh and reports its exit. */
function session(command: string, flags: readonly string[] = []) {
  const client = spawn('ssh', [...workspace.ssh.argv(workspace.name, ...flags), command], { stdio: 'pipe' })
  onTestFinished(() => void client.kill('SIGKILL'))
  const exit = new Promise<number | null>((resolve) => client.once('exit', resolve))
  let bytes = 0
  let head = ''
  client.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (head.length < 100) head += chunk.toString('latin1')
  })
  return { client, exit, bytes: () => bytes, head: () => head }
}

/** Returns the maximum growth of any SSH worker in three seconds. */
async function growth(): Promise<number> {
  const before = new Map(workerProcesses().map((pid) => [pid, residentBytes(pid)]))
  let most = 0
  for (let i = 0; i < 30; i++) {
    await delay(100)
    for (const [pid, bytes] of before) most = Math.max(most, residentBytes(pid) - bytes)
  }
  return most
}

test('a terminal and the language reach the workspace through a worker', async () => {
  const { stdout } = await workspace.ssh.run(workspace.name, 'echo $LC_ALL $TERM; stty size', {
    flags: ['-tt', '-o', 'SetEnv=LC_ALL=C.UTF-8'],
    environment: { TERM: 'vt220' },
  })
  expect(stdout.toString()).toMatch(/^C\.UTF-8 vt220\r\n\d+ \d+\r\n$/)
})

// Must run first: without earlier connections, two new ones go to two workers.
test('a killed worker loses only its own connections and is replaced', async () => {
  const before = workerProcesses()
  const [first, second] = [session('echo in; sleep 1000'), session('echo in; sleep 1000')]
  await waitFor('both sessions', () => first.head() === 'in\n' && second.head() === 'in\n')
  process.kill(before[0] ?? 0, 'SIGKILL')
  const ended = await Promise.race([first.exit.then(() => first), second.exit.then(() => second)])
  const living = ended === first ? second : first
  await waitFor('a new worker', () => workerProcesses().length === before.length)
  expect(living.client.exitCode).toBe(null)
  for (let i = 0; i < 4; i++) expect(await workspace.inside('echo new')).toBe('new\n')
  living.client.kill('SIGTERM')
})

test('a client that pauses reading 1 GB makes no worker grow and receives all of it later', async () => {
  const { client, exit, bytes } = session('head -c 1000000000 /dev/zero')
  await waitFor('the transfer', () => bytes() > 50_000_000)
  client.kill('SIGSTOP')
  const grown = await growth()
  client.kill('SIGCONT')
  expect(await exit).toBe(0)
  await waitFor('the rest', () => bytes() === 1_000_000_000)
  expect(grown).toBeLessThan(32 * 2 ** 20)
})

test('a program that does not read its input makes no worker grow', async () => {
  const { client } = session('sleep 1000')
  client.stdin.on('error', () => undefined)
  const chunk = Buffer.alloc(2 ** 20)
  for (let i = 0; i < 100; i++) client.stdin.write(chunk)
  await waitFor('the transfer', () => client.stdin.writableLength <= 99 * chunk.length)
  expect(await growth()).toBeLessThan(32 * 2 ** 20)
})

test('S5 a login succeeds while there are 500 silent connections', async () => {
  const silent = Array.from({ length: 500 }, () => connect(workspace.server.sshPort, '127.0.0.1'))
  onTestFinished(() => silent.forEach((socket) => socket.destroy()))
  for (const socket of silent) socket.on('error', () => undefined).resume()
  await Promise.all(silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  expect(await workspace.inside('echo in')).toBe('in\n')
  // The oldest of them are displaced; the login did not wait until the others are given up.
  expect(silent.at(-1)?.closed).toBe(false)
})

test('stopping the server terminates sessions and their programs', async () => {
  const other = await dockerSsh()
  onTestFinished(() => other.remove())
  const client = spawn('ssh', [...other.ssh.argv(other.name), 'echo in; sleep 4321'], { stdio: 'pipe' })
  const exit = new Promise((resolve) => client.once('exit', resolve))
  await new Promise((resolve) => client.stdout.once('data', resolve))
  await other.server.stop()
  expect(await exit).toBe(255)
  await waitFor('the program to exit', async () => {
    const top = await docker('top', `ws-${other.name}`, '-eo', 'pid,args')
    return !top.includes('sleep 4321')
  })
})

// Last, because it kills every worker. A stop that waits for them forever fails the hook that follows.
test('F13 connections that killed workers had not received end, and so do those without any worker', async () => {
  const open = (): Promise<unknown> => {
    const socket = connect(workspace.server.sshPort, '127.0.0.1').resume()
    onTestFinished(() => void socket.destroy())
    return new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
  }
  const workers = workerProcesses()
  for (const pid of workers) process.kill(pid, 'SIGSTOP')
  const waiting = Array.from({ length: 6 }, open)
  // Accepted one after the other, before this request.
  await workspace.server.api('info')
  for (const pid of workers) process.kill(pid, 'SIGKILL')
  await Promise.all(waiting)
  await waitFor('no worker', () => workerProcesses().length === 0)
  await open()
  await waitFor('a new worker', () => workerProcesses().length === workers.length)
  expect(await workspace.inside('echo new')).toBe('new\n')
})
