import type { CompletedValues } from '../../../lib/cli/completion.ts'
import type { WireSummary } from '../../api/process.ts'
import { contextOf } from './client.ts'

/** Values that completions of `supervisor` offer, as the running supervisor knows them. */
export const completedValues: CompletedValues = {
  kinds: {
    'why <name>': 'processes',
    'attach <name>': 'processes',
    'logs <names>': 'processes',
    'start <names>': 'processes',
    'stop <names>': 'processes',
    'restart <names>': 'processes',
    '--group': 'groups',
  },
  async list(kind, _given, command) {
    const { client } = await contextOf(command)
    const { processes } = await client.get<{ processes: readonly WireSummary[] }>('/processes')
    if (kind === 'groups') return [...new Set(processes.flatMap(({ groups }) => groups))]
    return processes.map(({ name }) => name)
  },
}
