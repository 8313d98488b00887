import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { configFault } from '../../lib/config/check.ts'
import { readYaml } from '../../lib/config/load.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fromProcessCompose, isProcessCompose } from './process-compose.ts'
import { parseProcfile } from './procfile.ts'

/** Names of files that are looked for in the working directory, the best first. */
export const CONFIG_FILES = [
  'supervisor.yaml',
  'supervisor.yml',
  'process-compose.yaml',
  'process-compose.yml',
  'Procfile',
] as const

/**
 * Reads a config file as keys and values of our own: YAML, a Procfile, or process-compose's. Adds to `warnings` what is not
 * understood of those. Throws CONFIG_UNREADABLE.
 */
export function readConfigFile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  warnings: string[],
): Readonly<Record<string, unknown>> {
  if (basename(file).startsWith('Procfile')) return parseProcfile(read(file), file, environment)
  const content = readYaml(file)
  return isProcessCompose(basename(file), content) ? fromProcessCompose(content, file, warnings) : content
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw configFault('CONFIG_UNREADABLE', `config file ${file} cannot be read: ${messageOf(error)}`, error)
  }
}
