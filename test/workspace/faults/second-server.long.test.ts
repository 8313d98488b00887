import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serve, spawnServer } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'

async function takenPort(): Promise<number> {
  const holder = createServer()
  holder.listen(0, '127.0.0.1')
  onTestFinished(() => void holder.close())
  await once(holder, 'listening')
  return (holder.address() as AddressInfo).port
}

test('F34 a second server on the same state directory exits with an error; the first keeps running', async () => {
  const stateDir = join(tempDir(), 'state')
  const first = await serve({ stateDir })
  const { how, output } = await spawnServer({ stateDir }).ended
  expect(how).toBe(1)
  expect(output).toContain(`workspace: another server uses the state directory ${stateDir}`)
  expect((await fetch(`${first.url}/api/info`)).status).toBe(200)
  // A killed server leaves no stale lock.
  await first.end('SIGKILL')
  const third = await serve({ stateDir })
  expect(await third.end('SIGTERM')).toBe(0)
})

test.each(['httpPort', 'sshPort'] as const)(
  'F34 a server whose %s is in use exits with an error',
  async (which) => {
    const port = await takenPort()
    const { how, output } = await spawnServer({ stateDir: join(tempDir(), 'state'), [which]: port }).ended
    expect(how).toBe(1)
    const last = output.trim().split('\n').at(-1)
    expect(last).toMatch(/^workspace: /)
    expect(last).toContain(String(port))
    expect(last).toMatch(which === 'httpPort' ? /http/i : /ssh/i)
  },
)
