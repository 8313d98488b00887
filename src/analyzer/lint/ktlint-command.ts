import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** How ktlint is run. */
export interface KtlintCommand {
  readonly program: string
  readonly argv: readonly string[]
}

/** What the project lacks for its Kotlin files to have a style. */
export const KTLINT_MISSING =
  'Kotlin is checked and formatted by ktlint, which is not here: put it on PATH, or name it or its jar with lint.ktlint; a jar needs a JVM'

/** The ktlint that the configuration names, else the one on PATH; a jar is run by a JVM. Undefined where one is missing. */
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
