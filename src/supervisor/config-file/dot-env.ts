import { existsSync } from 'node:fs'
import { parseEnvFile } from '../process/env-file.ts'

/**
 * Reads the variables of a `.env` file; none where there is no file.
 *
 * @param read reads it with the care that its folder needs
 * @throws an Error that names the first line that is no variable
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
