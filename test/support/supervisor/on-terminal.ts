import { onTestFinished } from 'vitest'
import { startTerminalProgram, type TerminalProgram, type TerminalSize } from '../terminal/program.ts'
import type { SupervisorUser } from './supervisor-cli.ts'

/** Runs the command line on a terminal, as a user does. @param setUp shell command that runs before, `finish` after it */
export function onTerminal(
  user: SupervisorUser,
  argv: readonly string[],
  size: TerminalSize = { columns: 80, rows: 24 },
  {
    setUp = 'true',
    finish,
    environment = {},
  }: {
    readonly setUp?: string
    readonly finish?: string
    readonly environment?: Readonly<Record<string, string>>
  } = {},
): TerminalProgram {
  const line = finish === undefined ? `${setUp} && exec "$@"` : `${setUp} && "$@"; ${finish}`
  const running = startTerminalProgram(
    ['/bin/sh', '-c', line, 'sh', process.execPath, user.program, ...argv],
    size,
    {
      directory: user.dir,
      environment: { ...(user.environment as Record<string, string>), TERM: 'xterm', ...environment },
    },
  )
  onTestFinished(running.close)
  return running
}
