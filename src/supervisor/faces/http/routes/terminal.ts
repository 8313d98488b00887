import type { HttpServer } from '../../../../lib/http/server.ts'
import type { Static } from 'typebox'
import { Type } from '../../../../lib/schema/type.ts'
import { summaryToWire } from '../../../api/process.ts'
import { terminalEventSchema, terminalInputSchema, type WireTerminalState } from '../../../api/terminal.ts'
import { retryAtOf } from '../../../process/process-state.ts'
import type { SupervisedProcess } from '../../../process/supervised-process.ts'
import { API } from '../api-path.ts'
import type { DropMetrics } from '../drop-metrics.ts'
import type { SupervisorFace } from '../face.ts'

const params = Type.Object({ name: Type.String() })

interface Named {
  readonly Params: { readonly name: string }
}

/** Adds the routes of a process's terminal. */
export function terminalRoutes(
  { app, openStream }: HttpServer,
  { supervisor }: SupervisorFace,
  dropped: DropMetrics,
): void {
  const { table, terminals } = supervisor

  app.get<Named>(
    `${API}/processes/:name/terminal`,
    {
      exposeHeadRoute: false,
      schema: {
        summary: "Streams the output of a process's terminal, first what is stored",
        description:
          'Server-sent events: messages with output as `data` in Base64; `state`, {status, reason, over}, at the start and after ' +
          'each change of the process; `lost`, {bytes}, counts output that a slow reader missed.',
        params,
        response: {
          200: { description: 'output', content: { 'text/event-stream': { schema: terminalEventSchema } } },
        },
      },
    },
    ({ params: { name } }, reply) => {
      const process = table.get(name)
      const terminal = terminals.get(process.spec)
      const stream = openStream(reply)
      let lostBytes = 0
      const send = (bytes: Buffer): void => {
        if (!stream.hasRoom) {
          lostBytes += bytes.length
          dropped.terminalBytes.inc(bytes.length)
          return
        }
        if (lostBytes > 0) stream.send({ bytes: lostBytes }, 'lost')
        lostBytes = 0
        if (bytes.length > 0) stream.send({ data: bytes.toString('base64') })
      }
      const { scrollback, leave } = terminal.view(send)
      stream.send({ data: scrollback.toString('base64') })
      stream.send(stateToWire(process), 'state')
      const unlisten = supervisor.onChange((changed) => {
        if (changed.spec.name === name) stream.send(stateToWire(changed), 'state')
      })
      stream.onDrain(() => send(Buffer.alloc(0)))
      void stream.closed.then(leave)
      void stream.closed.then(unlisten)
    },
  )

  app.post<Named & { readonly Body: Static<typeof terminalInputSchema> }>(
    `${API}/processes/:name/terminal`,
    {
      schema: {
        summary: "Types into a process's terminal, and sets its size",
        params,
        body: terminalInputSchema,
        response: { 200: Type.Ref('ActionResult') },
      },
    },
    ({ params: { name }, body: { input, size } }) => {
      const terminal = terminals.get(table.get(name).spec)
      if (size !== undefined) terminal.resize(size)
      if (input !== undefined) terminal.write(Buffer.from(input, 'base64'))
      return { success: true }
    },
  )
}

function stateToWire(process: SupervisedProcess): WireTerminalState {
  const { status, reason } = summaryToWire(process)
  const { isDown, state, spec } = process
  return { status, reason, over: isDown && retryAtOf(state) === undefined && spec.schedule === undefined }
}
