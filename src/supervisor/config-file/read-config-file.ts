import { readFileSync, type Stats } from 'node:fs'
import { basename } from 'node:path'
import { configFault } from '../../lib/config/check.ts'
import { parseYaml } from '../../lib/config/load.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { readUntrusted } from '../../lib/fs/read-untrusted.ts'
import { hasCommand, isProcessCompose, readProcessCompose } from './process-compose/read.ts'
import { parseProcfile } from './procfile.ts'

/** Names of configuration files in the working directory, in order of preference. */
export const CONFIG_FILES = [
  'supervisor.yaml',
  'supervisor.yml',
  'process-compose.yaml',
  'process-compose.yml',
  'Procfile',
] as const

/** Maximum size of a file found in the current folder; checking it takes less than a second. */
const MOST_BYTES = 256 * 1024

/**
 * Reads a configuration file as supervisor settings: YAML, a Procfile or a process-compose file. Adds unsupported keys
 * to `warnings`. A file that was not named (`isFound`) must be a regular file of at most 256 KiB that belongs to the user
 * or root and is not writable by everyone.
 *
 * @throws CONFIG_UNREADABLE
 */
export function readConfigFile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  warnings: string[],
  isFound: boolean,
): Readonly<Record<string, unknown>> {
  const text = read(file, isFound)
  if (basename(file).startsWith('Procfile'))
    return parseProcfile(text, file, environment, (path) => read(path, isFound))
  const readCompose = () =>
    readProcessCompose(file, { environment, warnings, isFound, read: (path) => read(path, isFound) })
  if (basename(file).startsWith('process-compose')) return readCompose()
  const content = parseYaml(text, file)
  if ('services' in content)
    throw configFault(
      'CONFIG_INVALID',
      `${file} looks like a Docker Compose file, which is not supported; "supervisor init" writes a supervisor.yaml`,
    )
  if (!basename(file).startsWith('supervisor') && isProcessCompose(content)) return readCompose()
  refuseCommands(content, file)
  return content
}

/** Names the key of a command, which users of process-compose mistake. @throws CONFIG_INVALID */
function refuseCommands({ processes }: Readonly<Record<string, unknown>>, file: string): void {
  const [name] = Object.entries(processes ?? {}).find(([, process]) => hasCommand(process)) ?? []
  if (name !== undefined)
    throw configFault(
      'CONFIG_INVALID',
      `${file}: "processes.${name}.command" is unknown; did you mean "cmd"? A process-compose file must be named process-compose.yaml`,
    )
}

function read(file: string, isFound: boolean): string {
  try {
    return isFound ? readUntrusted(file, MOST_BYTES, checkOwner) : readFileSync(file, 'utf8')
  } catch (error) {
    const remedy = isFound ? '; if you trust it, name it with --config' : ''
    throw configFault(
      'CONFIG_UNREADABLE',
      `config file ${file} cannot be read: ${messageOf(error)}${remedy}`,
      error,
    )
  }
}

/** Checks owner and mode, because the file's commands run with the user's rights. */
function checkOwner({ uid, mode }: Stats): void {
  const self = process.getuid?.()
  if (self === undefined) return
  if (uid !== self && uid !== 0) throw new Error(`it belongs to another user, ${uid}`)
  if ((mode & 0o002) !== 0) throw new Error('it is writable by every user; run "chmod o-w" on it')
}
