import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findMachine } from '../../../../src/workspace/backend/microvm/stray-machines.ts'
import { tempDir } from '../../../support/temp-dir.ts'

/** Starts a program with arguments; it runs until the test ends. */
async function runWith(...argv: readonly string[]): Promise<number | undefined> {
  const child = spawn('bash', ['-c', 'echo started; read -r line', 'helper', ...argv])
  onTestFinished(async () => {
    child.stdin.end()
    await once(child, 'close')
  })
  await once(child.stdout, 'data')
  return child.pid
}

test.each([
  ['an argument', (socket: string) => ['--socket', socket]],
  ['virtiofsd’s option', (socket: string) => [`--socket-path=${socket}`]],
  ['part of a list', (socket: string) => [`socket,id=vsock,path=${socket}`]],
])('a helper that a killed server had not recorded is found by its socket as %s', async (_name, argvOf) => {
  const directory = tempDir()
  const socket = join(directory, 'vhost.sock')
  const pid = await runWith(...argvOf(socket))
  await runWith('--socket', `${socket}.other`)
  const found = await findMachine({ disk: join(directory, 'upper.ext4'), sockets: [socket] })
  expect(found.map((each) => each.pid)).toEqual([pid])
  expect(await findMachine({ disk: join(directory, 'upper.ext4') })).toEqual([])
})
