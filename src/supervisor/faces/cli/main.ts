import type { Command } from 'commander'
import { addCompletion } from '../../../lib/cli/completion.ts'
import { addEverywhere, addOutputOptions } from '../../../lib/cli/output.ts'
import { createProgram, runProgram } from '../../../lib/cli/run.ts'
import type { Fault } from '../../../lib/errors/fault.ts'
import { packageVersion } from '../../../lib/process/package.ts'
import { addAttach } from './commands/attach.ts'
import { addConfig } from './commands/config.ts'
import { addInit } from './commands/init.ts'
import { addLifecycle } from './commands/lifecycle.ts'
import { addLogs } from './commands/logs.ts'
import { addMcp } from './commands/mcp.ts'
import { completedValues } from './completed-values.ts'
import { addProcesses } from './commands/processes.ts'
import { addRequests } from './commands/requests.ts'
import { addRun } from './commands/run.ts'
import { addTop } from './commands/top.ts'
import { addUp } from './commands/up.ts'

/** Runs the `supervisor` program. Resolves with its exit status. */
export function runSupervisorCli(argv: readonly string[]): Promise<number> {
  return runProgram(createSupervisorProgram(), argv, exitStatusOf)
}

/** Creates the program with all commands and options, from which help, completions and the reference derive. */
export function createSupervisorProgram(): Command {
  const program = createProgram(
    'supervisor',
    packageVersion(),
    'Runs the processes of a project and keeps them running.',
  )
  program.commandsGroup('Supervisor:')
  addUp(program)
  addLifecycle(program)
  addRun(program)
  program.commandsGroup('Processes:')
  addProcesses(program)
  addTop(program)
  program.commandsGroup('Output and requests:')
  addLogs(program)
  addAttach(program)
  addRequests(program)
  program.commandsGroup('Agents:')
  addMcp(program)
  program.commandsGroup('Configuration:')
  addInit(program)
  addConfig(program)
  addEverywhere(
    program,
    '-c, --config <file>',
    'config file; default: SUPERVISOR_CONFIG, then the standard locations',
  )
  addEverywhere(
    program,
    '--url <url>',
    'address of a running supervisor; default: SUPERVISOR_URL, or the one started with the configuration',
  )
  addEverywhere(
    program,
    '--token-file <file>',
    'file with the token for --url; default: SUPERVISOR_API__TOKEN_FILE',
  )
  addOutputOptions(program)
  addCompletion(program, completedValues)
  // Last, because commands added later would inherit its group.
  program.helpCommand('help [command]')
  return program
}

/** 2 for an invalid command line or configuration, 1 otherwise. */
function exitStatusOf({ code }: Fault): number {
  return code === 'SERVER_URL_INVALID' ? 2 : 1
}
