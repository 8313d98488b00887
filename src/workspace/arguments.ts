import { fault } from './errors.ts'

/** Linux's limit for one argument (MAX_ARG_STRLEN, less the terminating NUL). */
const MAX_ARGUMENT_BYTES = 131_071
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
const USER = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/

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

/** @throws INVALID_REQUEST when no program can receive the variables */
export function checkEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) {
    if (!VARIABLE.test(name))
      throw fault(
        'INVALID_REQUEST',
        `environment variable ${JSON.stringify(name.slice(0, 80))} is invalid: a name has letters, digits and "_", and does not start with a digit`,
      )
    checkArgument(`environment variable ${name}`, value)
  }
}

/** @throws INVALID_REQUEST when it can be neither a user's name nor a number; undefined is the workspace's user */
export function checkUser(user: string | undefined): void {
  if (user !== undefined && !isUser(user))
    throw fault('INVALID_REQUEST', `user ${JSON.stringify(user.slice(0, 80))} is not a valid name or number`)
}

/** Whether a text can be a user's name or number. */
export function isUser(text: string): boolean {
  return USER.test(text)
}
