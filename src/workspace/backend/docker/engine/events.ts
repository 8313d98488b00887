import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { DockerEngine } from './engine.ts'
import { ownFilter, workspaceNameOf } from './labels.ts'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'

/** Podman's names for `die` and `destroy`. */
const PODMAN_KINDS = ['died', 'remove']

const REACH_BACK_S = 2

/** Event types to subscribe to. Unfiltered, every program run in a workspace would send three events. */
const KINDS = ['start', 'die', 'oom', 'destroy', 'pause', 'unpause', 'rename', ...PODMAN_KINDS]

/**
 * Follows the engine's events about this server's containers until the stream ends, and reports each with its
 * workspace's name. Resolves when the stream has ended for any reason.
 */
export async function followEvents(
  engine: DockerEngine,
  serverId: string,
  signal: AbortSignal,
  on: { readonly onOpen: () => void; readonly onEvent: (name: string, action: string) => void },
): Promise<void> {
  const stream = (await engine.docker.getEvents({
    // The engine answers slightly before it subscribes; `since` covers the gap.
    since: Math.floor(Date.now() / 1_000) - REACH_BACK_S,
    filters: { type: ['container'], label: ownFilter(serverId), event: KINDS },
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

/** The used fields of an engine event. Source: Docker Engine API, SystemEvents. */
const eventSchema = Type.Object({
  Action: Type.Optional(Type.String()),
  Actor: Type.Optional(Type.Object({ Attributes: Type.Optional(Type.Record(Type.String(), Type.String())) })),
})

function parseEvent(line: string): { readonly name: string | undefined; readonly action: string } {
  const event = parseJson(eventSchema, line)
  return { name: workspaceNameOf(event?.Actor?.Attributes), action: event?.Action ?? '' }
}
