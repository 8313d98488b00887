import { readFileSync } from 'node:fs'
import { messageOf } from '../../lib/errors/message.ts'
import { parseEnvFile } from './env-file.ts'
import { interpolate } from './interpolate.ts'
import { fault } from '../errors.ts'
import type { ProcessSpec } from '../process-spec.ts'

/**
 * Returns the environment of a process: the supervisor's, then its files, read at each start, then its own settings, whose references are
 * resolved against the earlier ones.
 *
 * @throws PROCESS_START_FAILED when a file cannot be read
 */
export function environmentOf(
  spec: ProcessSpec,
  inherited: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  const environment: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(inherited)) {
    // Variables of the service manager are meant for the supervisor only.
    if (value !== undefined && name !== 'NOTIFY_SOCKET') environment[name] = value
  }
  for (const file of spec.envFiles) {
    try {
      Object.assign(environment, parseEnvFile(readFileSync(file, 'utf8'), environment))
    } catch (error) {
      throw fault(
        'PROCESS_START_FAILED',
        `process "${spec.name}": env_file ${file} cannot be read: ${messageOf(error)}`,
        error,
      )
    }
  }
  for (const [name, value] of Object.entries(spec.env)) environment[name] = interpolate(value, environment)
  return environment
}

/** Returns the arguments: a string for the shell, or a list with references resolved. */
export function argvOf(
  command: string | readonly string[],
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  if (typeof command === 'string') return ['/bin/sh', '-c', command]
  return command.map((word) => interpolate(word, environment))
}
