import { readEventStream } from '../../http/event-stream.ts'
import type { FakeBackend } from '../backend/fake-backend.ts'
import { simulatedGuest } from '../guest/guest-simulator.ts'
import { waitFor } from '../../wait-for.ts'
import type { Api, TestServer } from '../server/test-server.ts'

/** Both ends of the bus of a test's server, resolved when they are used. */
export function busClient(now: () => { readonly server: TestServer; readonly backend: FakeBackend }) {
  const api: Api = (path, ...request) => now().server.api(`plugins/${path}`, ...request)
  return {
    api,
    listen: (namespace: string) =>
      readEventStream(`${now().server.url}/api/plugins/listeners/${namespace}/messages`),
    /** A connected guest. */
    connected: async (name = 'demo', timeoutMs?: number) => {
      const guest = await simulatedGuest(now().backend, name, timeoutMs)
      await waitFor('the guest', async () =>
        (await api('workspaces')).body.workspaces.some((each: { name: string }) => each.name === name),
      )
      return guest
    },
    answer: (envelope: { id: string; workspace: object }, payload: object, more: object = {}) => ({
      workspace: envelope.workspace,
      in_reply_to: envelope.id,
      payload,
      ...more,
    }),
  }
}
