import { readFileSync } from 'node:fs'
import { messageOf } from '../../lib/errors/message.ts'
import { interpolate, parseEnvFile } from './env-file.ts'
import { fault } from '../errors.ts'
import type { ProcessSpec } from '../process-spec.ts'

/**
 * The environment of a process: ours, then its files, read anew at each start, then its own settings, whose references are
 * resolved against what came before.
 *
 * @throws PROCESS_START_FAILED
 */
export function environmentOf(
  spec: ProcessSpec,
  inherited: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  const environment: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(inherited)) {
    // What our own service manager said is for us.
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

/** What is run: a text by the shell, a list as it is, with references resolved. */
export function argvOf(
  command: string | readonly string[],
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  if (typeof command === 'string') return ['/bin/sh', '-c', command]
  return command.map((word) => interpolate(word, environment))
}
