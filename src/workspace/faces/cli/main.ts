import type { Command } from 'commander'
import { addCompletion } from '../../../lib/cli/completion.ts'
import { addOutputOptions } from '../../../lib/cli/output.ts'
import { createProgram, runProgram } from '../../../lib/cli/run.ts'
import type { Fault } from '../../../lib/errors/fault.ts'
import { packageVersion } from '../../../lib/process/package.ts'
import { addConfig } from './commands/config.ts'
import { addConnect } from './commands/connect.ts'
import { addDoctor } from './commands/doctor.ts'
import { addEvents } from './commands/events.ts'
import { addImages, addServerCommands } from './commands/images.ts'
import { addBus } from './commands/bus.ts'
import { addSnapshots } from './commands/snapshots.ts'
import { addInfo } from './commands/info.ts'
import { addInside } from './commands/inside.ts'
import { addInstallService } from './commands/install-service.ts'
import { addServe } from './commands/serve.ts'
import { addSessions } from './commands/sessions.ts'
import { addSsh } from './commands/ssh.ts'
import { addSystem } from './commands/system.ts'
import { addWorkspaceCommands } from './commands/workspaces.ts'

/** The `workspace` program; resolves with its exit status. */
export function runWorkspaceCli(argv: readonly string[]): Promise<number> {
  return runProgram(createWorkspaceProgram(), argv, exitStatusOf)
}

/** All commands and options, of which help, completions and the reference page are made. */
export function createWorkspaceProgram(): Command {
  const program = createProgram(
    'workspace',
    packageVersion(),
    'Creates, runs and exposes isolated development environments.',
  )
  addServe(program)
  addWorkspaceCommands(program)
  addSsh(program)
  addInside(program)
  addSessions(program)
  addConnect(program)
  addEvents(program)
  addImages(program)
  addSnapshots(program)
  addBus(program)
  addServerCommands(program)
  addSystem(program)
  addInfo(program)
  addDoctor(program)
  addInstallService(program)
  addConfig(program)
  addOutputOptions(program)
  addCompletion(program)
  return program
}

/** 1 for everything that a corrected command line would not change, 2 for what it would. */
function exitStatusOf(fault: Fault): number {
  return fault.code === 'SERVER_UNKNOWN' || fault.code === 'SERVER_URL_INVALID' ? 2 : 1
}
