import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { DockerEngine } from './engine.ts'
import { ownFilter, workspaceNameOf } from './labels.ts'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'

/** Podman filters by its own words for `die` and `destroy`. */
const PODMAN_KINDS = ['died', 'remove']

const REACH_BACK_S = 2

/** Without naming them every program run in a workspace would send three events. */
const KINDS = ['start', 'die', 'oom', 'destroy', 'pause', 'unpause', 'rename', ...PODMAN_KINDS]

/**
 * Follows the engine's events about this server's containers until the stream ends, telling the workspace's name and
 * what happened for each. Resolves when the stream has ended, for whatever reason.
 */
export async function followEvents(
  engine: DockerEngine,
  serverId: string,
  signal: AbortSignal,
  on: { readonly onOpen: () => void; readonly onEvent: (name: string, action: string) => void },
): Promise<void> {
  const stream = (await engine.docker.getEvents({
    // The engine answers a moment before it listens to itself; what happened in between is told by this.
    since: Math.floor(Date.now() / 1_000) - REACH_BACK_S,
    filters: { type: ['container'], label: [...ownFilter(serverId)], event: KINDS },
    abortSignal: signal,
  })) as Readable
  on.onOpen()
  try {
    for await (const line of createInterface({ input: stream })) {
      const { name, action } = parseEvent(line)
      if (name !== undefined) on.onEvent(name, action)
    }
  } finally {
    stream.destroy()
  }
}

/** What an event of the engine says, as far as it is used. Source: Docker Engine API, SystemEvents. */
const eventSchema = Type.Object({
  Action: Type.Optional(Type.String()),
  Actor: Type.Optional(Type.Object({ Attributes: Type.Optional(Type.Record(Type.String(), Type.String())) })),
})

function parseEvent(line: string): { readonly name: string | undefined; readonly action: string } {
  const event = parseJson(eventSchema, line)
  return { name: workspaceNameOf(event?.Actor?.Attributes), action: event?.Action ?? '' }
}
