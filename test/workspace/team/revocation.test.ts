import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { ExecProcess, ExecRequest } from '../../../src/workspace/backend/backend.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { openHttpTunnel } from '../../support/http/http-tunnel.ts'
import { openSsh, publicKey } from '../../support/workspace/ssh/open-ssh.ts'
import { serveInside } from '../../support/workspace/client/port-client.ts'
import { openTerminal } from '../../support/workspace/client/terminal-client.ts'
import { startTeamServer, type TeamServer } from '../../support/workspace/server/team-server.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Runs programs on a pipe where a terminal was requested. */
class TerminalBackend extends FakeBackend {
  override exec(name: string, { terminal: _, ...request }: ExecRequest): Promise<ExecProcess> {
    return super.exec(name, request)
  }
}

let team: TeamServer
beforeAll(async () => {
  team = await startTeamServer(
    { root: 'administrator', ana: 'member', bob: 'guest' },
    { backends: () => [new TerminalBackend()] },
  )
  await team.as('ana')('/api/workspaces', 'POST', { name: 'ana-demo' })
})
afterAll(() => team.stop())

const share = (shares: Readonly<Record<string, string>>) =>
  team.as('ana')('/api/workspaces/ana-demo/access', 'PUT', { shares })

/** Opens a stream of a response, and returns whether it has ended. */
async function openStream(path: string, actor: string, init: RequestInit = {}): Promise<() => boolean> {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const response = await fetch(`${team.server.url}${path}`, {
    ...init,
    headers: {
      authorization: team.authorizationOf(actor),
      accept: 'text/event-stream',
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
    },
    signal: controller.signal,
  })
  expect(response.status).toBe(200)
  let isEnded = false
  const read = async (): Promise<void> => {
    for await (const _ of response.body ?? []);
  }
  void read()
    .catch(() => undefined)
    .finally(() => (isEnded = true))
  return () => isEnded
}

/** Each opens a connection or a stream into the workspace, and returns whether it has ended. */
const USES: Readonly<Record<string, (actor: string) => Promise<() => boolean>>> = {
  'a program': (actor) =>
    openStream('/api/workspaces/ana-demo/exec', actor, { method: 'POST', body: '{"command": "sleep 100"}' }),
  'a log': (actor) => openStream('/api/workspaces/ana-demo/logs', actor),
  async 'a response of a port'(actor) {
    const { port } = await serveInside((_asked, answer) => answer.writeHead(200).write('begin'))
    return openStream(`/api/workspaces/ana-demo/proxy/${port}/`, actor)
  },
  async 'a terminal'(actor) {
    const headers = { authorization: team.authorizationOf(actor) }
    const { socket } = await openTerminal(`${team.server.url}/api/workspaces/ana-demo/terminal`, { headers })
    return () => socket.readyState === socket.CLOSED
  },
  async 'a terminal by a ticket'(actor) {
    const { body } = await team.as(actor)('/api/workspaces/ana-demo/passes', 'POST', { for: 'terminal' })
    const { socket } = await openTerminal(
      `${team.server.url}/api/workspaces/ana-demo/terminal?pass=${body.pass}`,
    )
    return () => socket.readyState === socket.CLOSED
  },
  async 'a tunnel'(actor) {
    const { port } = await serveInside(() => undefined)
    const answer = await openHttpTunnel(`${team.server.url}/api/workspaces/ana-demo/connect/${port}`, {
      headers: { authorization: team.authorizationOf(actor) },
    })
    let isEnded = false
    // This client keeps its own half open.
    answer.stream
      ?.on('error', () => (isEnded = true))
      .once('end', () => (isEnded = true))
      .resume()
    expect(answer.status).toBe(101)
    return () => isEnded
  },
}

async function openSession(): Promise<() => boolean> {
  const ssh = await openSsh(team.server, { authorization: team.authorizationOf('ana') })
  onTestFinished(ssh.remove)
  const public_key = publicKey(ssh.keyFile)
  await team.as('bob')('/api/users/me/keys', 'POST', { name: 'laptop', public_key })
  const session = spawn('ssh', [...ssh.argv('ana-demo'), 'echo begun; sleep 100'])
  onTestFinished(() => void session.kill('SIGKILL'))
  await once(session.stdout, 'data')
  return () => session.exitCode !== null
}

const ENDS: Readonly<Record<string, () => Promise<unknown>>> = {
  'a share that ends': () => share({}),
  'a lower level': () => share({ bob: 'read' }),
  'a disabled user': () => team.as('root')('/api/users/bob', 'PATCH', { disabled: true }),
}

describe('access that ends', () => {
  test.each(Object.entries(ENDS))(
    '%s ends what its user has open, and nothing of others',
    async (what, end) => {
      await team.as('root')('/api/users/bob', 'PATCH', { disabled: false })
      await share({ bob: 'use' })
      // A log needs only the level "read".
      const kinds = Object.entries(USES).filter(([kind]) => what !== 'a lower level' || kind !== 'a log')
      const ofBob = await Promise.all(kinds.map(([, open]) => open('bob')))
      const session = await openSession()
      const ofAna = await Promise.all(kinds.map(([, open]) => open('ana')))
      expect([...ofBob, ...ofAna, session].some((isEnded) => isEnded())).toBe(false)
      await end()
      for (const [index, [kind]] of kinds.entries())
        await waitFor(`the end of ${kind}`, () => ofBob[index]?.() === true)
      await waitFor('the end of the SSH session', session)
      expect(ofAna.map((isEnded) => isEnded())).toEqual(ofAna.map(() => false))
    },
  )

  test('a revoked token ends its streams, and a removed key its sessions', async () => {
    await team.as('root')('/api/users/bob', 'PATCH', { disabled: false })
    await share({ bob: 'use' })
    const { id } = await team.addToken('second', 'bob', {})
    const [events, others] = [
      await openStream('/api/events', 'second'),
      await openStream('/api/events', 'bob'),
    ]
    const session = await openSession()
    // The request that ends its own access gets its response.
    expect((await team.as('bob')(`/api/users/me/tokens/${id}`, 'DELETE')).status).toBe(204)
    await waitFor('the end of the stream', events)
    const { body } = await team.as('bob')('/api/users/me')
    for (const { fingerprint } of body.keys as readonly { readonly fingerprint: string }[])
      await team.as('bob')(`/api/users/me/keys?fingerprint=${encodeURIComponent(fingerprint)}`, 'DELETE')
    await waitFor('the end of the SSH session', session)
    expect(others()).toBe(false)
  })
})
