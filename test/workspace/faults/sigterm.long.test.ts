import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { rounds } from '../../support/rounds.ts'
import { serve, type Served, spawnServer } from '../../support/served.ts'
import { SEED } from '../../support/seed.ts'
import { stuckGitServer } from '../../support/services/stuck-git-server.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { makeWorkspace } from '../../support/workspace/server/test-server.ts'

/** Each takes about 4 s, most of it in the engine. */
const ROUNDS = rounds(3, 200)

/** Starts a creation of each kind without waiting for it. */
function beginWork(server: Served, names: readonly string[], repo: string): void {
  const [plain, cloned, streamed] = names
  const ignore = () => undefined
  void server.api('workspaces', 'POST', { name: plain }).catch(ignore)
  void server.api('workspaces', 'POST', { name: cloned, repo }).catch(ignore)
  void fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ name: streamed, repo }),
  })
    .then((response) => response.text())
    .catch(ignore)
}

test(
  'F36 a server stops within 10 s after SIGTERM at any moment and then starts clean',
  { timeout: 20_000 + ROUNDS * 10_000 },
  async () => {
    const stateDir = join(tempDir(), 'state')
    const git = await stuckGitServer()
    const resident = uniqueName('resident')
    const names = ['plain', 'cloned', 'streamed'].map(uniqueName)
    for (const name of [resident, ...names]) onTestFinished(() => removeLeftovers(name))
    const random = new Random(SEED)
    let server = await serve({ stateDir })
    await makeWorkspace(server.url, { name: resident })
    for (let round = 0; round < ROUNDS; round++) {
      const { body } = await server.api('workspaces')
      const known = body.workspaces.map((each: { name: string }) => each.name) as string[]
      // Complete workspaces are kept; incomplete ones are removed with container and volume.
      for (const name of names)
        expect(await leftovers(name), server.log()).toHaveLength(known.includes(name) ? 2 : 0)
      expect(known).toContain(resident)
      await Promise.all(
        names
          .filter((name) => known.includes(name))
          .map((name) => server.api(`workspaces/${name}`, 'DELETE')),
      )
      const ssh = await openSsh(server)
      const session = spawn('ssh', [...ssh.argv(resident), 'sleep 1000'], { stdio: 'ignore' })
      beginWork(server, names, git.repo)
      await delay(((round + random.next()) / ROUNDS) * 1_500)
      // Another status shows that the server reached its limit of 10 s.
      expect(await server.end('SIGTERM'), server.log()).toBe(0)
      session.kill('SIGKILL')
      ssh.remove()
      server = await serve({ stateDir })
    }
  },
)

test('F36 a server that gets SIGTERM while starting exits with 0 and then starts clean', async () => {
  const stateDir = join(tempDir(), 'state')
  for (const waitMs of [150, 300, 450, 600]) {
    const { child, ended } = spawnServer({ stateDir })
    await delay(waitMs)
    child.kill('SIGTERM')
    const { how, output } = await ended
    // No signal handler is installed before our first line runs.
    expect(output === '' ? 'SIGTERM' : how).toBe(output === '' ? how : 0)
  }
  const server = await serve({ stateDir })
  expect(await server.end('SIGTERM')).toBe(0)
})
