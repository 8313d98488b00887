import { type Command, InvalidArgumentError } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import type { WireForked } from '../../../api/fork.ts'
import { MAX_FORKS } from '../../../max-forks.ts'
import { addServerOption, contextOf } from '../context.ts'

interface ForkOptions {
  readonly number?: number
  readonly as?: string
  readonly diskOnly?: boolean
  readonly checkpoint?: string
}

/** Adds the command `fork`. */
export function addFork(program: Command): void {
  addServerOption(program.command('fork'))
    .description('create workspaces with the files and settings of another')
    .argument('<name>')
    .option('-n, --number <count>', 'number of forks; default 1', parseCount)
    .option('--as <prefix>', 'names are PREFIX-1, PREFIX-2 …; default NAME-fork')
    .option('--disk-only', 'boot the forks instead of continuing its programs')
    .option('--checkpoint <id>', 'fork the files of this checkpoint')
    .addHelpText('after', examples('workspace fork demo', 'workspace fork demo -n 4 --as attempt'))
    .action(async (name: string, options: ForkOptions, command: Command) => {
      const { number, as: prefix, diskOnly, checkpoint } = options
      const { client, output } = await contextOf(command)
      const path = `/api/workspaces/${encodeURIComponent(name)}/fork`
      const forked = await client.post<WireForked>(path, {
        count: number,
        prefix,
        checkpoint,
        ...(diskOnly === true && { memory: false }),
      })
      output.result(forked, () => forkedText(name, forked))
    })
}

function forkedText(name: string, { workspaces, paused_ms: pausedMs, memory }: WireForked): string {
  const paused = pausedMs > 0 ? `; ${name} was paused for ${pausedMs} ms` : ''
  const kept = memory ? 'with its memory' : 'without its memory: programs do not continue'
  return [...workspaces.map((each) => each.name), `forked from ${name} ${kept}${paused}`].join('\n')
}

function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_FORKS) return count
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_FORKS}.`)
}
