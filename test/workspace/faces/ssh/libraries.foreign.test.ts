import { createHash } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { goClient, libraryClients } from '../../../support/foreign/clients.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { runProgram } from '../../../support/workspace/ssh/open-ssh.ts'

let workspace: DockerSsh
let hostKey: string

/** Answers what it received once its client has ended. */
const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))

beforeAll(async () => {
  workspace = await dockerSsh()
  hostKey = (await workspace.server.api('ssh-host-key')).body.host_key
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  echo.close()
  await workspace.remove()
})

async function play(command: readonly string[], name: string, ...more: readonly string[]): Promise<unknown> {
  const { server, ssh } = workspace
  const [program = '', ...argv] = command
  const address = ['127.0.0.1', String(server.sshPort), workspace.name, ssh.keyFile, hostKey]
  const { status, stdout, stderr } = await runProgram(program, [...argv, ...address, name, ...more])
  if (status !== 0) throw new Error(`status ${status}: ${stderr.slice(-2000)}`)
  return JSON.parse(stdout.toString())
}

const ran = { status: 7, stdout: 'out', stderr: 'err' }
const digest = createHash('sha256').update('x'.repeat(5_000_000)).digest('hex')
const cases: readonly (readonly [name: string, answer: unknown])[] = [
  ['exec', ran],
  ['input', { stdout: digest }],
  ['transfer', { isEqual: true, size: 3_000_000 }],
  ['forward', { answer: 'hello' }],
  ['parallel', { numbers: Array.from({ length: 20 }, (_, n) => n) }],
  ['terminal', { size: '40 100' }],
]

describe.each(libraryClients())('$title', ({ command }) => {
  test.each(cases)('%s', async (name, answer) => {
    const port = String((echo.address() as AddressInfo).port)
    expect(await play(command, name, ...(name === 'forward' ? [port] : []))).toEqual(answer)
  })
})

describe('key exchanges', () => {
  test.each(['mlkem768x25519-sha256', 'curve25519-sha256'])('%s', async (exchange) => {
    expect(await play([goClient()], 'exchange', exchange)).toEqual(ran)
  })
})
