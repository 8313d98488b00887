// Serves short-lived credentials of the machine's role, chosen by the host, to programs inside a virtual machine.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/lib/errors/message.ts'
import { pingHost, PROXY_FLAGS, serveCredentials } from './proxy.ts'

const NAME = 'workspace-ext-cloud-credentials'

function fail(why: string): never {
  console.error(`${NAME}: ${why}`)
  process.exit(2)
}

function readOptions(): { readonly port: number; readonly token: string | undefined } {
  try {
    const { values } = parseArgs({ options: PROXY_FLAGS })
    const { port, 'token-file': file } = values
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) fail('--port must be 0 to 65535')
    return {
      port: Number(port),
      token:
        file === undefined ? process.env['WORKSPACE_CREDENTIALS_TOKEN'] : readFileSync(file, 'utf8').trim(),
    }
  } catch (error) {
    return fail(messageOf(error))
  }
}

const agentUrl = process.env['WORKSPACE_AGENT_URL']
serveCredentials({ ...readOptions(), agentUrl })
  .on('listening', () => void pingHost(agentUrl))
  .on('error', (error) => fail(error.message))
