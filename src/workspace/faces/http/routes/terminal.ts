import type { IncomingMessage } from 'node:http'
import { WebSocketServer } from 'ws'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { errorToWire } from '../../../api/error.ts'
import { terminalFromQuery } from '../../../api/terminal.ts'
import { fault } from '../../../errors.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { openTerminal } from '../../../terminal/open-terminal.ts'
import { TerminalTable } from '../../../terminal/terminal-table.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { serveTerminal } from '../terminal-socket.ts'

const SUBPROTOCOL = 'terminal'
const MAX_MESSAGE_BYTES = 2 ** 20
const PATH = /^\/api\/workspaces\/([^/]*)\/terminal$/

/** Registers the route for terminals inside workspaces, over WebSockets. */
export function terminalRoute({ app, upgrades }: HttpServer, face: HttpFace): void {
  const { table, entrance, lifecycle, audit, activity, tickets, gate, access } = face
  const terminals = new TerminalTable(table)
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: () => SUBPROTOCOL,
  })

  upgrades.handle(
    'websocket',
    async (request, socket) => {
      const { name, query } = targetOf(request)
      const ticket = query.get('pass') ?? undefined
      const principal = gate.hasToken(request)
        ? gate.principalOf(request)
        : audit.admission(subjectOf({ raw: request }, 'terminal.open', name), () =>
            tickets.redeem(ticket, name, { for: 'terminal' }),
          )
      access.require(principal, name, 'use')
      gate.follow(principal, name, socket)
      refuseOtherProtocols(request)
      const terminalRequest = terminalFromQuery(query)
      const { workspace, backend } = await entrance.enter(name, 'conflict')
      const slot = terminals.reserve(workspace.name)
      const endActivity = activity.begin(workspace.name)
      socket.once('close', () => {
        slot.release()
        endActivity()
      })
      const process = await audit.follow(subjectOf({ raw: request }, 'terminal.open', name), () =>
        openTerminal(backend, workspace.name, terminalRequest),
      )
      if (socket.destroyed) return process.hangUp()
      // Also covers a failed handshake, which `handleUpgrade` answers.
      socket.once('close', () => void process.hangUp())
      const { workspaceEnded } = slot
      const whenIdle = () => lifecycle.whileIdle(workspace.name, async () => undefined)
      server.handleUpgrade(request, socket, Buffer.alloc(0), (webSocket) => {
        void serveTerminal({ socket: webSocket, process, workspaceEnded, whenIdle, logger: app.log })
      })
    },
    { needsNoToken: true, path: PATH },
  )

  app.get(
    '/api/workspaces/:name/terminal',
    {
      schema: {
        summary: 'Open a terminal inside a workspace over a WebSocket',
        description:
          'With `Upgrade: websocket` and the subprotocol `terminal` the server answers 101. Query: `session` (a tmux session, created if ' +
          'missing; default a login shell), `columns`, `rows`, `pass`. Without the upgrade it answers 426.',
        response: { 101: Type.Null(), 426: Type.Ref('Error') },
      },
    },
    (_request, reply) => {
      const failure = fault('INVALID_REQUEST', 'this route requires an upgrade; connect with a WebSocket')
      return reply.status(426).header('upgrade', 'websocket').send(errorToWire(failure))
    },
  )
}

function targetOf({ url = '' }: IncomingMessage): { readonly name: string; readonly query: URLSearchParams } {
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const [, name] = PATH.exec(path) ?? []
  if (name === undefined)
    throw fault('INVALID_REQUEST', 'no WebSocket endpoint at this path; use /api/workspaces/{name}/terminal')
  // Valid names contain no characters that need percent-encoding.
  return { name: parseWorkspaceName(name), query: new URLSearchParams(at < 0 ? '' : url.slice(at)) }
}

function refuseOtherProtocols({ headers }: IncomingMessage): void {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim())
  if (offered.includes(SUBPROTOCOL)) return
  throw fault('INVALID_REQUEST', `the WebSocket must offer the subprotocol "${SUBPROTOCOL}"`)
}
