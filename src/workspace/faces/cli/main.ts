import type { Command } from 'commander'
import { addCompletion } from '../../../lib/cli/completion.ts'
import { addOutputOptions } from '../../../lib/cli/output.ts'
import { createProgram, runProgram } from '../../../lib/cli/run.ts'
import type { Fault } from '../../../lib/errors/fault.ts'
import { packageVersion } from '../../../lib/process/package.ts'
import { completedValues } from './completed-values.ts'
import { addArchive } from './commands/archive.ts'
import { addAudit } from './commands/audit.ts'
import { addBackup } from './commands/backup.ts'
import { addConfig } from './commands/config.ts'
import { addConnect } from './commands/connect.ts'
import { addCopy } from './commands/cp.ts'
import { addDesktop } from './commands/desktop.ts'
import { addDoctor } from './commands/doctor.ts'
import { addEgress } from './commands/egress.ts'
import { addEvents } from './commands/events.ts'
import { addImages, addServerCommands } from './commands/images.ts'
import { addBus } from './commands/bus.ts'
import { addSnapshots } from './commands/snapshots.ts'
import { addInfo } from './commands/info.ts'
import { addInside } from './commands/inside.ts'
import { addMcp } from './commands/mcp.ts'
import { addInstallService } from './commands/install-service.ts'
import { addRun } from './commands/run.ts'
import { addCheckpoints } from './commands/checkpoints.ts'
import { addFork } from './commands/fork.ts'
import { addSet } from './commands/set.ts'
import { addServe } from './commands/serve.ts'
import { addSessions } from './commands/sessions.ts'
import { addSsh } from './commands/ssh.ts'
import { addSystem } from './commands/system.ts'
import { addTeam } from './commands/team.ts'
import { addTorture } from './commands/torture.ts'
import { addTemplates } from './commands/templates.ts'
import { addTop } from './commands/top.ts'
import { addWorkspaceCommands } from './commands/workspaces.ts'

/** Runs the `workspace` program; resolves with its exit status. */
export function runWorkspaceCli(argv: readonly string[]): Promise<number> {
  return runProgram(createWorkspaceProgram(), argv, exitStatusOf)
}

/** Creates the program with all commands and options, from which help, completions and the man page are generated. */
export function createWorkspaceProgram(): Command {
  const program = createProgram(
    'workspace',
    packageVersion(),
    'Creates, runs and exposes isolated development environments.',
  )
  program.commandsGroup('Workspaces:')
  addWorkspaceCommands(program)
  addFork(program)
  addCheckpoints(program)
  addSet(program)
  addArchive(program)
  addTemplates(program)
  addEvents(program)
  addEgress(program)
  addTop(program)
  program.commandsGroup('Inside a workspace:')
  addRun(program)
  addSsh(program)
  addCopy(program)
  addSessions(program)
  addConnect(program)
  addInside(program)
  addDesktop(program)
  addMcp(program)
  program.commandsGroup('Images and snapshots:')
  addImages(program)
  addSnapshots(program)
  program.commandsGroup('Disk:')
  addSystem(program)
  program.commandsGroup('Bus:')
  addBus(program)
  program.commandsGroup('Team:')
  addTeam(program)
  program.commandsGroup('Server:')
  addServe(program)
  addInfo(program)
  addServerCommands(program)
  addConfig(program)
  addDoctor(program)
  addTorture(program)
  addAudit(program)
  addBackup(program)
  addInstallService(program)
  program.commandsGroup('Other:')
  addOutputOptions(program)
  addCompletion(program, completedValues)
  // Last, because commands added later would inherit its group.
  program.helpCommand('help [command]')
  return program
}

const USAGE_CODES: ReadonlySet<string> = new Set(['SERVER_UNKNOWN', 'SERVER_URL_INVALID', 'COPY_INVALID'])

/** Returns 2 for errors that a corrected command line fixes, else 1. */
function exitStatusOf(fault: Fault): number {
  return USAGE_CODES.has(fault.code) ? 2 : 1
}
