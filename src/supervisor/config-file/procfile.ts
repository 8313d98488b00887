import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configFault } from '../../lib/config/check.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { readDotEnv } from './dot-env.ts'

const FIRST_PORT = 5000
const PORTS_APART = 100
const MAX_PORT = 65_535

interface ProcfileProcess {
  readonly cmd: string
  readonly restart: string
  readonly abort_on: readonly string[]
  readonly proxy: { readonly port: number }
  readonly env_file?: string
}

/**
 * Reads a Procfile, `name: command` lines, as foreman runs it: all processes run, the exit of one stops all of them with its
 * exit status, each has `.env` next to the file and its own PORT (5000, 5100 …, or starting at the PORT of `.env`).
 *
 * @param read reads `.env` with the checks required for its folder
 * @throws CONFIG_UNREADABLE when a line of the Procfile or of `.env`, or a port is not valid
 */
export function parseProcfile(
  content: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  read: (file: string) => string,
): { readonly processes: Readonly<Record<string, ProcfileProcess>> } {
  const processes: Record<string, ProcfileProcess> = {}
  const envFile = join(dirname(file), '.env')
  const { PORT } = readVariables(envFile, environment, read)
  const firstPort = portFrom(PORT ?? environment['PORT'], PORT === undefined ? 'the environment' : envFile)
  const refuse = (line: number, why: string): never => {
    throw configFault('CONFIG_UNREADABLE', `config file ${file}: line ${line} ${why}`)
  }
  for (const [index, line] of content
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? []
    if (name === undefined || command === undefined)
      return refuse(
        index + 1,
        'is not of the form "name: command"; names have letters, digits, dashes and underscores',
      )
    if (Object.hasOwn(processes, name)) return refuse(index + 1, `has a second process "${name}"`)
    const port = firstPort + Object.keys(processes).length * PORTS_APART
    if (port > MAX_PORT)
      return refuse(
        index + 1,
        `gives "${name}" the port ${port}, above the maximum of ${MAX_PORT}; start at a lower PORT than ${firstPort}`,
      )
    processes[name] = {
      cmd: command,
      restart: 'never',
      abort_on: ['failure', 'success'],
      proxy: { port },
      ...(existsSync(envFile) && { env_file: '.env' }),
    }
  }
  return { processes }
}

/** Returns the first port. @throws CONFIG_UNREADABLE that names where an unusable one is from */
function portFrom(text: string | undefined, from: string): number {
  if (text === undefined || text === '') return FIRST_PORT
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port > 0 && port <= MAX_PORT) return port
  throw configFault(
    'CONFIG_UNREADABLE',
    `PORT "${text}" in ${from} is not a port from 1 to ${MAX_PORT}; correct or remove it`,
  )
}

function readVariables(
  ...[file, environment, read]: Parameters<typeof readDotEnv>
): Readonly<Record<string, string>> {
  try {
    return readDotEnv(file, environment, read)
  } catch (error) {
    if (isFault(error)) throw error
    throw configFault('CONFIG_UNREADABLE', `${file} cannot be read: ${messageOf(error)}`, error)
  }
}
