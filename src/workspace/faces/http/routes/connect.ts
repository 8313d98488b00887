import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Type } from '../../../../lib/schema/type.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { joinStreams } from '../../../../lib/process/join-streams.ts'
import { errorToWire } from '../../../api/error.ts'
import { portParams } from '../../../api/parameters.ts'
import { fault } from '../../../errors.ts'
import { openTunnel } from '../../../tunnel/open-tunnel.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'

const PROTOCOL = 'workspace-tcp'
const PATH = /^\/api\/workspaces\/([^/]*)\/connect\/([^/]*)$/

/** Registers raw TCP tunnels to ports inside workspaces. */
export function connectRoute({ app, upgrades }: HttpServer, face: HttpFace): void {
  const { entrance, audit, activity, config, gate } = face
  upgrades.handle(PROTOCOL, async (request, socket) => {
    refuseBody(request)
    const [name, port] = targetOf(request)
    gate.require(request, name, 'use')
    gate.follow(gate.principalOf(request), name, socket)
    const inside = await audit.follow(subjectOf({ raw: request }, 'tunnel.open', name), () =>
      openTunnel(entrance, name, port, config.tunnel.denyPorts),
    )
    const endActivity = activity.begin(name)
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PROTOCOL}\r\n\r\n`)
    keepOpen(socket)
    void joinStreams(socket, inside).then(endActivity)
  })

  app.get(
    '/api/workspaces/:name/connect/:port',
    {
      schema: {
        summary: 'Open a TCP tunnel to a port inside a workspace',
        params: portParams,
        description:
          'With `Upgrade: workspace-tcp` the server answers 101 and then relays raw bytes in both directions, preserving half-close. Without it, it answers 426.',
        response: { 101: Type.Null(), 426: Type.Ref('Error') },
      },
    },
    (_request, reply) => {
      const failure = fault(
        'INVALID_REQUEST',
        `this route requires an upgrade; send "Connection: Upgrade" and "Upgrade: ${PROTOCOL}"`,
      )
      return reply.status(426).header('upgrade', PROTOCOL).send(errorToWire(failure))
    },
  )
}

function targetOf(request: IncomingMessage): readonly [string, string] {
  const [, name = '', port = ''] = PATH.exec(request.url?.split('?')[0] ?? '') ?? []
  try {
    if (name !== '' || port !== '') return [decodeURIComponent(name), decodeURIComponent(port)]
  } catch {
    // Invalid percent-encoding; refused below.
  }
  throw fault('INVALID_REQUEST', `only /api/workspaces/{name}/connect/{port} can be upgraded to ${PROTOCOL}`)
}

/** Refuses a request body, which would be mistaken for the beginning of the stream. */
function refuseBody({ headers }: IncomingMessage): void {
  if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return
  throw fault('INVALID_REQUEST', 'a tunnel request must not have a body')
}

/** Lets a tunnel be idle indefinitely; the HTTP server notices a peer that has vanished (fault F31). */
function keepOpen(socket: Duplex): void {
  if (!(socket instanceof Socket)) return
  socket.setTimeout(0)
  socket.setNoDelay(true)
}
