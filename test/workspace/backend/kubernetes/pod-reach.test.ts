import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { type AgentKeys, generateAgentKeys } from '../../../../src/workspace/backend/kubernetes/agent-keys.ts'
import { secretData } from '../../../../src/workspace/backend/kubernetes/manifests.ts'
import { PodReach } from '../../../../src/workspace/backend/kubernetes/pod-reach.ts'
import { fakeApi, objectOf, refuse, send } from '../../../support/cluster/fake-api.ts'

const UID = '6b0a1d6e-0000-4000-8000-000000000001'

/** A TLS server like a pod's agent, which sends its name. */
async function agent(
  name: string,
  host: string,
  { agent: own, server }: AgentKeys,
  port = 0,
): Promise<number> {
  const tls = createServer(
    {
      cert: own.certificate,
      key: own.key,
      ca: server.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (socket) => socket.on('error', () => undefined).end(name),
  )
  await new Promise<void>((resolve) => tls.listen(port, host, resolve))
  onTestFinished(() => void tls.close())
  return (tls.address() as AddressInfo).port
}

/** A cluster with one pod, which the test may replace. */
async function cluster() {
  const state: { pod?: { readonly uid: string; readonly podIP: string; readonly keys: AgentKeys } } = {}
  const { client, requests } = await fakeApi(({ path }, response) => {
    const { pod } = state
    if (pod === undefined) return refuse(response, 404, 'NotFound')
    const metadata = { uid: pod.uid, labels: { 'workspace.dev/uid': UID } }
    if (path.endsWith('/pods/ws-demo')) {
      const containerStatuses = [{ name: 'workspace', state: { running: {} } }]
      return send(response, 200, {
        ...objectOf('ws-demo', '1', metadata),
        status: { podIP: pod.podIP, containerStatuses },
      })
    }
    const data = Object.entries(secretData(pod.keys)).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ])
    send(response, 200, { ...objectOf('ws-demo', '1'), data: Object.fromEntries(data) as object })
  })
  return { state, requests, reach: new PodReach(client, 'workspaces') }
}

test('a pod is looked up once, and entered with the keys of its start', async () => {
  const { state, requests, reach } = await cluster()
  const keys = await generateAgentKeys(UID)
  state.pod = { uid: 'pod-1', podIP: '127.0.0.1', keys }
  const port = await agent('the agent', '127.0.0.1', keys)
  for (let i = 0; i < 3; i++) {
    const { dialGuest, bootKey } = await reach.reach('Demo')
    expect(await text(await dialGuest(port))).toBe('the agent')
    expect(bootKey).toBe('pod-1')
  }
  expect(requests).toHaveLength(2)
})

test('an agent with the keys of another start or workspace is refused', async () => {
  const { state, reach } = await cluster()
  const [keys, other] = [await generateAgentKeys(UID), await generateAgentKeys(UID)]
  state.pod = { uid: 'pod-1', podIP: '127.0.0.1', keys }
  const impostor = await agent('an impostor', '127.0.0.1', { agent: other.agent, server: keys.server })
  const { dialGuest } = await reach.reach('demo')
  await expect(dialGuest(impostor)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  const foreign = await generateAgentKeys('another-uid')
  state.pod = { uid: 'pod-2', podIP: '127.0.0.1', keys: { agent: foreign.agent, server: keys.server } }
  const port = await agent('a foreign agent', '127.0.0.1', state.pod.keys)
  await expect((await reach.reach('demo')).dialGuest(port)).rejects.toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('a pod that no longer listens is looked up again', async () => {
  const { state, reach } = await cluster()
  const [first, second] = [await generateAgentKeys(UID), await generateAgentKeys(UID)]
  state.pod = { uid: 'pod-1', podIP: '127.0.0.3', keys: first }
  const port = await agent('the second', '127.0.0.2', second)
  // Nothing listens at the first address.
  await reach.reach('demo')
  state.pod = { uid: 'pod-2', podIP: '127.0.0.2', keys: second }
  expect(await text(await (await reach.reach('demo')).dialGuest(port))).toBe('the second')
})

test('a workspace without a running pod is not entered', async () => {
  const { reach } = await cluster()
  await expect(reach.reach('demo')).rejects.toThrow('workspace "demo" has no running pod')
})
