import { existsSync } from 'node:fs'
import { parseEnvFile } from '../process/env-file.ts'

/**
 * Reads the variables of a `.env` file; none if there is no file.
 *
 * @param read reads the file with the checks required for its folder
 * @throws Error that names the first invalid line
 */
export function readDotEnv(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  read: (file: string) => string,
): Readonly<Record<string, string>> {
  if (!existsSync(file)) return {}
  const inherited = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return parseEnvFile(read(file), Object.fromEntries(inherited))
}
