import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { foreignProgram, versionOf } from '../../../support/foreign/clients.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'

const playbook = join(packageRoot, 'test/fixtures/foreign/ansible/playbook.yml')
let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
  // Ansible's modules need it, and the base image has none.
  await workspace.inside(
    'sudo apt-get -q update && sudo apt-get -q install -y --no-install-recommends python3',
  )
})
afterAll(() => workspace.remove())

describe(`Ansible ${versionOf([foreignProgram('ansible'), '--version'])}`, () => {
  test('a playbook with facts, copy, template, become, async and fetch', async () => {
    const { ssh, name, server } = workspace
    const directory = tempDir()
    const inventory = join(directory, 'hosts')
    const fetched = join(directory, 'fetched')
    const address = `ansible_host=127.0.0.1 ansible_port=${server.sshPort} ansible_user=${name}`
    writeFileSync(inventory, `${name} ${address} ansible_ssh_private_key_file=${ssh.keyFile}\n`)
    const known = `-o UserKnownHostsFile=${ssh.knownHosts} -o GlobalKnownHostsFile=/dev/null -F /dev/null`
    const argv = ['-i', inventory, '-e', `fetched=${fetched}`, '--ssh-common-args', known, playbook]
    const { status, stdout } = await runProgram(foreignProgram('ansible-playbook'), argv, '', {
      HOME: directory,
      LC_ALL: 'C.UTF-8',
      ANSIBLE_NOCOLOR: '1',
    })
    const output = stdout.toString()
    expect([status, output]).toEqual([
      0,
      expect.stringMatching(/ok=23 +changed=7 +unreachable=0 +failed=0 +skipped=0 /),
    ])
    expect(readFileSync(fetched, 'utf8')).toBe('ünïcode ✓\n')
  })
})
