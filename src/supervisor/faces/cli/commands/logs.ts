import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { contextOf } from '../client.ts'
import { type LogsOptions, showLogs } from '../show-logs.ts'

/** Adds `logs`. */
export function addLogs(program: Command): void {
  program
    .command('logs')
    .description('show the output of processes')
    .argument('[names...]', 'names of processes; default: all')
    .option('-g, --group <name>', 'processes of this group')
    .option('-f, --follow', 'follow new output')
    .option('-n, --lines <count>', 'maximum number of earlier lines', wholeNumber, 100)
    .option('--grep <pattern>', 'only lines that contain this text')
    .option('--regex', 'the pattern is an RE2 regular expression')
    .option('-t, --times', 'prefix lines with their time')
    .addHelpText('after', examples("supervisor logs -f web worker --grep 'error|warn' --regex"))
    .action(async (names: readonly string[], options: LogsOptions, command: Command) => {
      await showLogs(await contextOf(command), names, options)
    })
}
