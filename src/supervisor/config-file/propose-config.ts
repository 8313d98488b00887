import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { configFault } from '../../lib/config/check.ts'
import { yaml } from '../../lib/config/yaml.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { readUntrusted } from '../../lib/fs/read-untrusted.ts'
import { parseProcfile } from './procfile.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

const MOST_BYTES = 2 ** 20

/** Scripts that run until they are stopped, best first; others are tasks. */
const LONG_RUNNING = /^(?:dev|start|serve|watch)(?::|$)/

/** Proposes a commented configuration for a directory. @throws CONFIG_UNREADABLE when its Procfile or `.env` is not valid */
export function proposeConfig(
  directory: string,
  environment: Readonly<Record<string, string | undefined>>,
): {
  readonly text: string
  readonly processes: readonly string[]
} {
  const found: Readonly<Record<string, string | object>> | undefined =
    fromProcfile(join(directory, 'Procfile'), environment) ?? fromScripts(join(directory, 'package.json'))
  const processes = found ?? { hello: 'while sleep 5; do echo hello; done' }
  const envFile = existsSync(join(directory, '.env')) ? { env_file: '.env' } : {}
  const entries = Object.fromEntries(
    Object.entries(processes).map(([name, one]) => [
      name,
      { ...(typeof one === 'string' ? { cmd: one } : one), ...envFile },
    ]),
  )
  return {
    text: `${HEAD}${yaml().stringify({ processes: entries })}${TAIL}`,
    processes: Object.keys(processes),
  }
}

/** Returns a Procfile's processes with the ports that they have now; unlike in a Procfile, they are restarted. */
function fromProcfile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, object>> | undefined {
  if (!existsSync(file)) return undefined
  const { processes } = parseProcfile(read(file), file, environment, read)
  const found = Object.entries(processes).map(([name, { cmd, proxy }]) => [
    name,
    { cmd, restart: 'always', proxy },
  ])
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

const packageSchema = Type.Object({ scripts: Type.Optional(Type.Record(Type.String(), Type.String())) })

function fromScripts(file: string): Readonly<Record<string, string>> | undefined {
  if (!existsSync(file)) return undefined
  const { scripts = {} } = parseJson(packageSchema, read(file)) ?? {}
  const names = Object.keys(scripts).filter((name) => LONG_RUNNING.test(name))
  if (names.length === 0) return undefined
  return Object.fromEntries(
    names.map((name) => [name.replaceAll(/[^A-Za-z0-9_.-]/g, '-'), `npm run ${name}`]),
  )
}

function read(file: string): string {
  try {
    return readUntrusted(file, MOST_BYTES)
  } catch (error) {
    throw configFault('CONFIG_UNREADABLE', `${file} cannot be read: ${messageOf(error)}`, error)
  }
}

const HEAD = `# Processes of this project. "supervisor config check" validates this file; docs/supervisor/configuration.md
# describes every key.

`

const TAIL = `
# Further keys of a process:
#
#   restart: on-failure            # or always, never
#   depends_on: {db: healthy}      # or started, completed
#   healthcheck: {http: http://127.0.0.1:3000/, interval: 5s}
#   env: {LOG_LEVEL: debug}
#   proxy: {port: 3000}            # then http://NAME.localhost:8088 routes to it, with the lines below
#
# proxy:
#   enabled: true
`
