import { createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { portNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { joinStreams } from '../../../../lib/process/join-streams.ts'
import { resetSocket } from '../../../../lib/process/reset-socket.ts'
import { addServerOption, contextOf } from '../context.ts'
import { openTunnelTo } from '../../../client/open-tunnel-to.ts'

/** Adds the command `connect`, which joins standard input and output, or a local port, to a port inside a workspace. */
export function addConnect(program: Command): void {
  addServerOption(program.command('connect'))
    .description('connect standard input and output or a local port to a port inside a workspace')
    .argument('<name>')
    .argument('<port>')
    .option(
      '--local <port>',
      'listen on this port of 127.0.0.1 instead of using standard input and output',
      portNumber,
    )
    .addHelpText(
      'after',
      examples(
        'workspace connect demo 3000 --local 3000',
        "ssh -o ProxyCommand='workspace connect demo 22' demo",
      ),
    )
    .action(async (name: string, port: string, options: { local?: number }, command: Command) => {
      const { server, output } = await contextOf(command)
      const path = `/api/workspaces/${encodeURIComponent(name)}/connect/${encodeURIComponent(port)}`
      const open = (): Promise<Duplex> => openTunnelTo(server, path)
      if (options.local === undefined) {
        await joinStandard(await open())
        return
      }
      // Open a tunnel up front to report a wrong name or port before any client connects.
      ;(await open()).destroy()
      await forward(options.local, open, (at) =>
        output.result(
          { listening: at },
          () => `127.0.0.1:${at} forwards to port ${port} of ${name}; press Ctrl-C to stop`,
        ),
      )
    })
}

/** Pipes standard input and output until the peer closes; discards any unread input. */
async function joinStandard(tunnel: Duplex): Promise<void> {
  process.stdin.pipe(tunnel)
  await pipeline(tunnel, process.stdout, { end: false })
  process.stdin.destroy()
}

/** Forwards a local port until the program is interrupted. */
async function forward(
  port: number,
  open: () => Promise<Duplex>,
  onListening: (port: number) => void,
): Promise<void> {
  const join = async (socket: Socket): Promise<void> => {
    socket.on('error', () => socket.destroy())
    try {
      await joinStreams(socket, await open())
    } catch (error) {
      process.stderr.write(`workspace: ${messageOf(error)}\n`)
      resetSocket(socket)
    }
  }
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void join(socket))
  await new Promise<void>((resolve, reject) =>
    listener.once('error', reject).listen(port, '127.0.0.1', resolve),
  )
  onListening((listener.address() as AddressInfo).port)
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
  })
  listener.close()
  process.exit(0)
}
