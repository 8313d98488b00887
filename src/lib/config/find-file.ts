import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Possible locations of a program's configuration file. */
export interface FileSources {
  /** The program's name, which is its folder in the user's configuration directory and in /etc. */
  readonly program: string
  /** File name inside that folder; default `config.yaml`. */
  readonly fileName?: string
  /** The variable that names the file if no flag does. */
  readonly fileVariable: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The file given by a flag. */
  readonly file?: string | undefined
}

/** Returns the configuration file: the flag's, the variable's, the user's or the machine's, in this order. */
export function findConfigFile(sources: FileSources): string | undefined {
  const named = sources.file ?? sources.environment[sources.fileVariable]
  if (named !== undefined && named !== '') return named
  const fileName = sources.fileName ?? 'config.yaml'
  return [userConfigDir(sources.program, sources.environment), join('/etc', sources.program)]
    .map((dir) => join(dir, fileName))
    .find((path) => existsSync(path))
}

/** Returns a program's folder in the user's configuration directory. */
export function userConfigDir(
  program: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  return join(environment['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), program)
}
