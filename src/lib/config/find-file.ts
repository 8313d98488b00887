import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where a program's config file may be. */
export interface FileSources {
  /** The program's name: its folder in the user's config dir and in /etc. */
  readonly program: string
  /** File name inside that folder. */
  readonly fileName?: string
  /** The variable that names the file when no flag does. */
  readonly fileVariable: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The file that a flag named. */
  readonly file?: string | undefined
}

/** The one config file that counts: named by a flag, else by the variable, else the user's, else the machine's. */
export function findConfigFile(sources: FileSources): string | undefined {
  const named = sources.file ?? sources.environment[sources.fileVariable]
  if (named !== undefined && named !== '') return named
  const fileName = sources.fileName ?? 'config.yaml'
  return [userConfigDir(sources.program, sources.environment), join('/etc', sources.program)]
    .map((dir) => join(dir, fileName))
    .find((path) => existsSync(path))
}

/** The folder of a program in the user's config dir. */
export function userConfigDir(
  program: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  return join(environment['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), program)
}
