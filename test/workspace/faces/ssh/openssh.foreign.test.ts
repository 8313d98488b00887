import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { versionOf } from '../../../support/foreign/clients.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../../support/wait-for.ts'

let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
})
afterAll(() => workspace.remove())

const run = (command: string, more: Parameters<DockerSsh['ssh']['run']>[2] = {}) =>
  workspace.ssh.run(workspace.name, command, { stdin: '', ...more })

describe(`OpenSSH ${versionOf(['ssh', '-V'])}`, () => {
  test('output, errors and status', async () => {
    const { status, stdout, stderr } = await run('printf out; printf err >&2; exit 7')
    expect([status, stdout.toString(), stderr]).toEqual([7, 'out', 'err'])
  })

  test('a command of 120 KiB', async () => {
    const word = 'x'.repeat(120 * 1024)
    const { status, stdout } = await run(`printf %s ${word} | wc -c`)
    expect([status, stdout.toString().trim()]).toEqual([0, String(word.length)])
  })

  test('200 environment variables of 500 bytes', async () => {
    const names = Array.from({ length: 200 }, (_, n) => `LC_MY_${n}`)
    const environment = Object.fromEntries(names.map((name) => [name, 'v'.repeat(500)]))
    const flags = ['-o', 'SendEnv=LC_MY_*']
    const { stdout } = await run('env | grep -c "^LC_MY_[0-9]*=v\\{500\\}$"', { flags, environment })
    expect(stdout.toString().trim()).toBe('200')
  })

  test('a terminal with -t', async () => {
    const { status, stdout } = await run('tty && test -t 0 && echo yes', { flags: ['-tt'] })
    expect([status, stdout.toString()]).toEqual([0, expect.stringMatching(/^\/dev\/pts\/\d+\r\nyes\r\n$/)])
  })

  test('one connection for 20 commands with ControlMaster', async () => {
    const socket = join(tempDir(), 'master')
    const flags = ['-o', `ControlPath=${socket}`, '-o', 'ControlMaster=auto', '-o', 'ControlPersist=60']
    const stop = () => run('', { flags: [...flags, '-O', 'exit'] })
    expect(await run('true', { flags })).toMatchObject({ status: 0 })
    onTestFinished(async () => void (await stop()))
    await waitFor('the master', () => existsSync(socket))
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => run(`echo ${n}`, { flags })))
    expect(answers.map(({ stdout }) => Number(stdout))).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })

  test('ProxyJump through a workspace to a port inside it', async () => {
    const { ssh, name, server } = workspace
    const jump = `ssh ${ssh.argv(name).join(' ')} -W 127.0.0.1:${server.sshPort}`
    const { status, stdout } = await run('echo reached', { flags: ['-o', `ProxyCommand=${jump}`] })
    expect([status, stdout.toString()]).toEqual([0, 'reached\n'])
  })
})

describe(`ssh-audit ${versionOf(['ssh-audit', '-h'], /v(\d[\d.]+)/)}`, () => {
  test('no failures', async () => {
    const argv = ['--no-colors', '-p', String(workspace.server.sshPort), '127.0.0.1']
    const { stdout } = await runProgram('ssh-audit', argv)
    const report = stdout.toString().split('\n')
    expect(report.filter((line) => line.includes('[fail]'))).toEqual([])
    expect(
      report.filter(
        (line) => line.includes('[warn]') && !/hmac-sha2-(?:256|512) |unknown algorithm/.test(line),
      ),
    ).toEqual([])
  })
})
