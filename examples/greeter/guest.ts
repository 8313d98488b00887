// The guest's end: asks the host, and prints what it says.
import { publish } from 'workspace-suite/extension-guest'

const agentUrl = process.env['WORKSPACE_AGENT_URL']
const { greeting } = await publish('greeter', { name: process.argv[2] ?? 'you' }, { agentUrl })
console.log(greeting)
