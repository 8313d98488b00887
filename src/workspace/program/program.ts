import type { Backend, ExecProcess } from '../backend/backend.ts'
import { loginVariables } from '../backend/login-environment.ts'
import { fault } from '../errors.ts'

/** Linux's limit for one argument (MAX_ARG_STRLEN, less the terminating NUL). */
const MAX_ARGUMENT_BYTES = 131_071
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
const USER = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/
/** Starts the program in a directory; a shell that cannot change to it prints why. */
const IN_DIRECTORY = 'cd -- "$1" || exit 126; shift; exec "$@"'

/** A program that a client of the API runs in a workspace. */
export interface Program {
  /** A line for the user's shell, or a program with its arguments. */
  readonly command: string | readonly [string, ...string[]]
  /** Defaults to the image's working directory, which is usually /workspace. */
  readonly directory: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** Defaults to the workspace's user. */
  readonly user: string | undefined
}

/** @throws INVALID_REQUEST when no program can receive the text as an argument */
export function checkArgument(what: string, text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_ARGUMENT_BYTES)
    throw fault(
      'INVALID_REQUEST',
      `the ${what} is ${bytes} bytes long, which exceeds the limit of ${MAX_ARGUMENT_BYTES}; send a script on standard input instead: bash -s < script`,
    )
  if (text.includes('\0')) throw fault('INVALID_REQUEST', `the ${what} contains a NUL byte`)
}

/** @throws INVALID_REQUEST when the program cannot be started like this */
export function checkProgram({ command, directory, environment, user }: Program): void {
  if (typeof command === 'string') checkArgument('command', command)
  else for (const argument of command) checkArgument('argument', argument)
  if (directory !== undefined) checkArgument('working directory', directory)
  for (const [name, value] of Object.entries(environment)) {
    if (!VARIABLE.test(name))
      throw fault(
        'INVALID_REQUEST',
        `environment variable ${JSON.stringify(name.slice(0, 80))} is invalid: a name has letters, digits and "_", and does not start with a digit`,
      )
    checkArgument(`environment variable ${name}`, value)
  }
  if (user !== undefined && !USER.test(user))
    throw fault('INVALID_REQUEST', `user ${JSON.stringify(user.slice(0, 80))} is not a valid name or number`)
}

/**
 * Starts a program without a terminal, in the environment of a login over SSH unless another user is set.
 *
 * @throws the backend's errors
 */
export async function startProgram(
  backend: Backend,
  workspaceName: string,
  { command, directory, environment, user }: Program,
): Promise<ExecProcess> {
  const login = user === undefined ? await backend.loginEnvironment(workspaceName) : undefined
  const argv = typeof command === 'string' ? [login?.shell ?? '/bin/sh', '-c', command] : command
  return backend.exec(workspaceName, {
    argv: directory === undefined ? argv : ['/bin/sh', '-c', IN_DIRECTORY, 'sh', directory, ...argv],
    environment: {
      ...(login !== undefined && loginVariables(login)),
      ...environment,
    },
    ...(user !== undefined && { user }),
  })
}
