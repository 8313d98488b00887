// The guest's part: asks the host and prints the response.
import { publish } from 'workspace-suite/extension-guest'

const agentUrl = process.env['WORKSPACE_AGENT_URL']
const { greeting } = await publish('greeter', { name: process.argv[2] ?? 'you' }, { agentUrl })
console.log(greeting)
