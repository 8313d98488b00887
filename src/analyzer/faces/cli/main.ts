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
import { addLint } from './commands/lint.ts'
import { addMcp } from './commands/mcp.ts'
import { addMembers } from './commands/members.ts'
import { addProject } from './commands/project.ts'
import { addServer } from './commands/server.ts'
import { addSource } from './commands/source.ts'
import { addProjectOption } from './context.ts'

/** The `analyzer` program; resolves with its exit status. */
export function runAnalyzerCli(argv: readonly string[]): Promise<number> {
  return runProgram(createAnalyzerProgram(), argv, exitStatusOf)
}

/** All commands and options, of which help, completions and the reference page are made. */
export function createAnalyzerProgram(): Command {
  const program = createProgram(
    'analyzer',
    packageVersion(),
    'Answers questions about the compiled classes of a project.',
  )
  addServer(program)
  addProject(program)
  addClasses(program)
  addMembers(program)
  addCalls(program)
  addDeps(program)
  addSource(program)
  addLint(program)
  addDiff(program)
  addMcp(program)
  addProjectOptions(program)
  addOutputOptions(program)
  addCompletion(program)
  return program
}

/** Every command takes it, before its name and behind: also those that need no project. */
function addProjectOptions(command: Command): void {
  if (!command.options.some(({ long }) => long === '--project')) addProjectOption(command)
  command.commands.forEach(addProjectOptions)
}

const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  BAD_REQUEST: 2,
  PROJECT_NOT_FOUND: 3,
  SERVER_ERROR: 4,
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
