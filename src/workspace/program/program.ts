import type { Backend, ExecProcess } from '../backend/backend.ts'
import { loginVariables } from '../backend/login-environment.ts'
import { checkArgument, checkEnvironment, checkUser } from '../arguments.ts'
import { inDirectory } from '../path-text.ts'

/** A program that a client of the API runs in a workspace. */
export interface Program {
  /** A line for the user's shell, or a program with its arguments. */
  readonly command: string | readonly [string, ...string[]]
  /** A text as `path-text.ts` describes; defaults to the image's working directory, which is usually /workspace. */
  readonly directory: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** Defaults to the workspace's user. */
  readonly user: string | undefined
  /** Size of its terminal; default none. */
  readonly terminal?: { readonly columns: number; readonly rows: number } | undefined
}

/** @throws INVALID_REQUEST when the program cannot be started like this */
export function checkProgram({ command, directory, environment, user }: Program): void {
  if (typeof command === 'string') checkArgument('command', command)
  else for (const argument of command) checkArgument('argument', argument)
  if (directory !== undefined) checkArgument('working directory', directory)
  checkEnvironment(environment)
  checkUser(user)
}

/**
 * Starts a program in the environment of a login over SSH unless another user is set.
 *
 * @throws the backend's errors
 */
export async function startProgram(
  backend: Backend,
  workspaceName: string,
  { command, directory, environment, user, terminal }: Program,
): Promise<ExecProcess> {
  const login = user === undefined ? await backend.loginEnvironment(workspaceName) : undefined
  const argv = typeof command === 'string' ? [login?.shell ?? '/bin/sh', '-c', command] : command
  return backend.exec(workspaceName, {
    argv: directory === undefined ? argv : inDirectory(directory, argv),
    environment: {
      ...(login !== undefined && loginVariables(login)),
      ...environment,
    },
    ...(user !== undefined && { user }),
    ...(terminal !== undefined && { terminal }),
  })
}
