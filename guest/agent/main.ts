// The agent inside a virtual machine: what the host asks of it, it does there. It listens on vsock, and on a serial port of
// the host's where there is one; nothing of it can be reached from a network or by programs inside.
import { messageOf } from '../../src/lib/errors/message.ts'
import { AGENT_PORT } from '../../src/lib/guest/protocol.ts'
import { listenVsock } from '../../src/native/vsock.ts'
import { serve } from './serve.ts'
import { serveSerialPort } from './serial.ts'

// systemd stops it when the machine ends; programs get theirs from the machine.
process.on('SIGHUP', () => undefined)
// One connection's fault is that connection's.
process.on('uncaughtException', (error) => console.error('workspace-agent:', error))

try {
  listenVsock(AGENT_PORT, (connection) => void serve(connection))
} catch (error) {
  console.error(`workspace-agent: no vsock: ${messageOf(error)}`)
}
void serveSerialPort((connection) => void serve(connection))
