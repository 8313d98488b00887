// The agent inside a virtual machine, which serves requests of the host. It listens on vsock, and on a serial port of
// the host if there is one. It cannot be reached from a network, and programs inside can reach only the bus.
import type { Duplex } from 'node:stream'
import { messageOf } from '../../src/lib/errors/message.ts'
import { AGENT_PORT } from '../../src/lib/guest/protocol.ts'
import { listenVsock } from '../../src/native/net/vsock.ts'
import { keepAgentToken, readAgentToken } from './bus/agent-token.ts'
import { connectHost } from './bus/connect-host.ts'
import { servePublish } from './bus/publish-server.ts'
import { Uplink } from './bus/uplink.ts'
import { Extensions } from './extensions/extensions.ts'
import { readManifest } from './extensions/read-manifest.ts'
import { systemdServices } from './extensions/systemd.ts'
import { serve } from './serve.ts'
import { serveSerialPort } from './serial.ts'

// systemd stops it at shutdown; programs get their signals from init.
process.on('SIGHUP', () => undefined)
// An error affects only its connection.
process.on('uncaughtException', (error) => console.error('workspace-agent:', error))

const uplink: Uplink = new Uplink(connectHost, undefined, (enabled) => void extensions.enable(enabled))
const extensions = new Extensions({ readManifest, services: systemdServices }, uplink)
const token = readAgentToken()
if (token !== undefined) uplink.begin(token)
servePublish(uplink)

const answer = (connection: Duplex): void =>
  void serve(connection, ({ agentToken }) => {
    keepAgentToken(agentToken)
    uplink.begin(agentToken)
  })
try {
  listenVsock(AGENT_PORT, answer)
} catch (error) {
  console.error(`workspace-agent: no vsock: ${messageOf(error)}`)
}
void serveSerialPort(answer)
