import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Command line that runs ktlint. */
export interface KtlintCommand {
  readonly program: string
  readonly argv: readonly string[]
}

/** Message if ktlint is missing. */
export const KTLINT_MISSING =
  'Kotlin is checked and formatted by ktlint, which was not found: put it on PATH, or set lint.ktlint to the program or jar; a jar needs a JVM'

/**
 * Finds the configured ktlint, else the one on PATH; a jar needs a JVM. Returns undefined if either is
 * missing.
 */
export function findKtlint(
  named: string | undefined,
  jvmHome: string | undefined,
  path: string | undefined,
): KtlintCommand | undefined {
  const program = named ?? onPath(path)
  if (program === undefined || !existsSync(program)) return undefined
  if (!program.endsWith('.jar')) return { program, argv: [] }
  return jvmHome === undefined ? undefined : { program: join(jvmHome, 'bin/java'), argv: ['-jar', program] }
}

function onPath(path = ''): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'ktlint'))
    .find(isProgram)
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
