import type { Command } from 'commander'
import { addCompletion } from '../../../lib/cli/completion.ts'
import { addEverywhere, addOutputOptions } from '../../../lib/cli/output.ts'
import { createProgram, runProgram } from '../../../lib/cli/run.ts'
import { packageVersion } from '../../../lib/process/package.ts'
import { addAlias } from './commands/alias.ts'
import { addConfig } from './commands/config.ts'
import { addHashPassword } from './commands/hash-password.ts'
import { addMcp } from './commands/mcp.ts'
import { addPublish } from './commands/publish.ts'
import { addUnpublish } from './commands/unpublish.ts'
import { addReads } from './commands/reads.ts'
import { addRevoke } from './commands/revoke.ts'
import { addToken } from './commands/token.ts'
import { addServe } from './commands/serve.ts'

/** Runs the `content-server` program; resolves with its exit status. */
export function runContentCli(argv: readonly string[]): Promise<number> {
  return runProgram(createContentProgram(), argv, () => 1)
}

/** Creates the command-line program. Help, completions, man page and the reference check use it too. */
export function createContentProgram(): Command {
  const program = createProgram(
    'content-server',
    packageVersion(),
    'Serves published documentation to users who have logged in.',
  )
  program.commandsGroup('Server:')
  addServe(program)
  program.commandsGroup('Published documentation:')
  addPublish(program)
  addUnpublish(program)
  addAlias(program)
  program.commandsGroup('Users and programs:')
  addHashPassword(program)
  addRevoke(program)
  addToken(program)
  addReads(program)
  addMcp(program)
  program.commandsGroup('Other:')
  addConfig(program)
  addEverywhere(
    program,
    '-c, --config <file>',
    'config file; default: CONTENT_CONFIG, then the standard locations',
  )
  addOutputOptions(program)
  addCompletion(program)
  // Last, because commands added later would inherit its group.
  program.helpCommand('help [command]')
  return program
}
