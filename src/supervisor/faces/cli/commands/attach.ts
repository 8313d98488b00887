import { type Command, InvalidArgumentError } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { attachTerminal } from '../attach/attach-terminal.ts'
import { parseDetachKeys } from '../attach/detach-keys.ts'
import { contextOf } from '../client.ts'
import { showLogs } from '../show-logs.ts'

const SHOWN_LINES = 20
const DETACH_KEYS = 'ctrl-p,ctrl-q'

interface AttachOptions {
  readonly detachKeys: string
}

/** Adds `attach`, which connects to the terminal of a process, or follows the output of all. */
export function addAttach(program: Command): void {
  program
    .command('attach')
    .description('connect to the terminal of a process, or show the output of all; leaves them running')
    .argument('[name]', 'name of a process with "tty: true"; default: the output of all processes')
    .option('--detach-keys <keys>', 'keys that detach from a terminal', checkedKeys, DETACH_KEYS)
    .addHelpText('after', examples('supervisor attach', 'supervisor attach repl'))
    .action(async (name: string | undefined, { detachKeys }: AttachOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      if (name === undefined) return showLogs({ client, output }, [], { follow: true, lines: SHOWN_LINES })
      const { tty } = await client.get<{ tty: boolean }>(`/processes/${encodeURIComponent(name)}`)
      if (!tty) {
        process.stderr.write(`supervisor: ${name} has no terminal ("tty: true"); showing its output\n`)
        return showLogs({ client, output }, [name], { follow: true, lines: SHOWN_LINES })
      }
      if (!process.stdin.isTTY || !process.stdout.isTTY)
        throw new Error(`attach ${name} requires a terminal; use "supervisor logs -f ${name}" instead`)
      const end = await attachTerminal(client, name, parseDetachKeys(detachKeys) ?? Buffer.alloc(0))
      const message =
        end.is === 'detached'
          ? `detached from ${name}, which keeps running`
          : `${name} is ${end.state.status}: ${end.state.reason}`
      process.stderr.write(`\nsupervisor: ${message}\n`)
    })
}

function checkedKeys(text: string): string {
  if (parseDetachKeys(text) !== undefined) return text
  throw new InvalidArgumentError('It must be keys such as ctrl-p,ctrl-q or ctrl-].')
}
