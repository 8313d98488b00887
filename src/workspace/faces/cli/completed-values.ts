import type { CompletedValues } from '../../../lib/cli/completion.ts'
import type { WireSession } from '../../api/session.ts'
import type { WireSnapshot } from '../../api/snapshot.ts'
import type { WireTemplate } from '../../api/template.ts'
import type { WireWorkspace } from '../../api/workspace.ts'
import { contextOf } from './context.ts'
import { findAllServers } from '../../client/find-server.ts'

/** Commands whose first argument is a workspace. */
const ON_WORKSPACE = [
  'show',
  'start',
  'stop',
  'suspend',
  'reset',
  'rename',
  'fork',
  'rm',
  'set',
  'checkpoint',
  'checkpoints',
  'rewind',
  'export',
  'events',
  'ssh',
  'exec',
  'connect',
  'ports',
  'logs',
  'open',
  'code',
] as const

/** Values that completions of `workspace` offer, as the default server knows them. */
export const completedValues: CompletedValues = {
  kinds: {
    ...Object.fromEntries(ON_WORKSPACE.map((command) => [`${command} <name>`, 'workspaces'])),
    'sessions ls <name>': 'workspaces',
    'sessions attach <name>': 'workspaces',
    'sessions attach <session>': 'sessions',
    'sessions kill <name>': 'workspaces',
    'sessions kill <session>': 'sessions',
    'connect <port>': 'ports',
    'open <port>': 'ports',
    'snapshot show <name>': 'snapshots',
    'snapshot rm <name>': 'snapshots',
    'snapshot create <workspace>': 'workspaces',
    '--template': 'templates',
    '--from-snapshot': 'snapshots',
    '--server': 'servers',
    '-s': 'servers',
  },
  async list(kind, given, command) {
    if (kind === 'servers') return (await findAllServers(process.env)).map(({ name }) => name)
    const { client } = await contextOf(command)
    if (kind === 'workspaces') return names((await client.get<Workspaces>('/api/workspaces')).workspaces)
    if (kind === 'templates') return names((await client.get<Templates>('/api/templates')).templates)
    if (kind === 'snapshots') return names((await client.get<Snapshots>('/api/snapshots')).snapshots)
    const inside = `/api/workspaces/${encodeURIComponent(given[0] ?? '')}`
    if (kind === 'sessions') return names((await client.get<Sessions>(`${inside}/sessions`)).sessions)
    const { ports } = await client.get<Ports>(`${inside}/ports`)
    return ports.map(({ port }) => String(port))
  },
}

interface Workspaces {
  readonly workspaces: readonly WireWorkspace[]
}
interface Templates {
  readonly templates: readonly WireTemplate[]
}
interface Snapshots {
  readonly snapshots: readonly WireSnapshot[]
}
interface Sessions {
  readonly sessions: readonly WireSession[]
}
interface Ports {
  readonly ports: readonly { readonly port: number }[]
}

function names(each: readonly { readonly name: string }[]): readonly string[] {
  return each.map(({ name }) => name)
}
