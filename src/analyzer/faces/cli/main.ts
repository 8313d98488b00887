import type { Command } from 'commander'
import { addCompletion } from '../../../lib/cli/completion.ts'
import { addOutputOptions } from '../../../lib/cli/output.ts'
import { createProgram, runProgram } from '../../../lib/cli/run.ts'
import type { Fault } from '../../../lib/errors/fault.ts'
import { packageVersion } from '../../../lib/process/package.ts'
import { addCalls } from './commands/calls.ts'
import { addClasses } from './commands/classes.ts'
import { addDeps } from './commands/deps.ts'
import { addDiff } from './commands/diff.ts'
import { addDuplicates } from './commands/duplicates.ts'
import { addImpact } from './commands/impact.ts'
import { addLint } from './commands/lint.ts'
import { addMcp } from './commands/mcp.ts'
import { addMembers } from './commands/members.ts'
import { addProject } from './commands/project.ts'
import { addReach } from './commands/reach.ts'
import { addRules } from './commands/rules.ts'
import { addServer } from './commands/server.ts'
import { addSource } from './commands/source.ts'
import { addProjectOption } from './context.ts'

/** Runs the `analyzer` program; resolves with its exit status. */
export function runAnalyzerCli(argv: readonly string[]): Promise<number> {
  return runProgram(createAnalyzerProgram(), argv, exitStatusOf)
}

/** Creates the command-line program. Help, completions, man page and the reference check use it too. */
export function createAnalyzerProgram(): Command {
  const program = createProgram(
    'analyzer',
    packageVersion(),
    'Answers questions about the compiled classes of a project.',
  )
  program.commandsGroup('Servers:')
  addServer(program)
  program.commandsGroup('Queries:')
  addProject(program)
  addClasses(program)
  addMembers(program)
  addCalls(program)
  addReach(program)
  addImpact(program)
  addDeps(program)
  addRules(program)
  addDuplicates(program)
  addSource(program)
  program.commandsGroup('Style, comparison and agents:')
  addLint(program)
  addDiff(program)
  addMcp(program)
  program.commandsGroup('Other:')
  addProjectOptions(program)
  addOutputOptions(program)
  addCompletion(program)
  // Last, because commands added later would inherit its group.
  program.helpCommand('help [command]')
  return program
}

/**
 * Adds --project to all commands, so that it can precede or follow the command name, even for commands that
 * ignore it.
 */
function addProjectOptions(command: Command): void {
  if (!command.options.some(({ long }) => long === '--project')) addProjectOption(command)
  command.commands.forEach(addProjectOptions)
}

const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  BAD_REQUEST: 2,
  PROJECT_NOT_FOUND: 3,
  SERVER_ERROR: 4,
  NO_CLASSES: 4,
  SEARCH_BUSY: 4,
  SCAN_NOT_READY: 4,
  SCAN_FAILED: 4,
  SERVER_START_FAILED: 4,
  SERVER_TIMEOUT: 5,
  SERVER_UNREACHABLE: 6,
  SERVER_NOT_RUNNING: 7,
}

function exitStatusOf({ code }: Fault): number {
  return STATUS_OF_CODE[code] ?? 1
}
