import type { Decoded } from '../../lib/config/decode.ts'
import { environmentKeys } from '../../lib/config/environment.ts'
import { named as namedSections, optionalSection, optionalText, section } from '../../lib/config/fields.ts'
import { findConfigFile } from '../../lib/config/find-file.ts'
import { defineFaults, type Fault, isFault } from '../../lib/errors/fault.ts'
import { Type } from '../../lib/schema/type.ts'
import type { ServerAddress } from './server-address.ts'
import { findServerRecord } from '../../lib/discovery/server-record.ts'
import { defaultStateDir } from '../default-paths.ts'

const cliFault = defineFaults({ SERVER_UNKNOWN: 'invalid', SERVER_URL_INVALID: 'invalid' })

const LOCAL: ServerAddress = { name: 'local', url: 'http://127.0.0.1:8080' }

/** Schema of the CLI's configuration file. */
export const cliSchema = section({
  servers: namedSections(
    Type.Object(
      {
        url: optionalText('URL of its API: http, https or unix:///path'),
        token_file: optionalText('file with its access token'),
        bus_token_file: optionalText('file with its bus token'),
        ssh: optionalSection({
          host: optionalText("host of its SSH server; default the API's host"),
          port: Type.Optional(
            Type.Integer({ description: 'port of its SSH server; default the port that the API reports' }),
          ),
        }),
      },
      { additionalProperties: false },
    ),
    'servers by name',
  ),
  default_server: optionalText('server to use when none is given'),
})

const sources = {
  program: 'workspace',
  fileName: 'cli.yaml',
  fileVariable: 'WORKSPACE_CLI_CONFIG',
  environmentPrefix: 'WORKSPACE_CLI',
  schema: cliSchema,
} as const

type CliSettings = Decoded<typeof cliSchema>

/**
 * Returns the server that a command addresses: the one named, else WORKSPACE_URL (with WORKSPACE_TOKEN_FILE and
 * WORKSPACE_BUS_TOKEN_FILE), else the configured default, else the one on this machine.
 *
 * @throws SERVER_UNKNOWN when the name is not configured, and SERVER_URL_INVALID when the URL is missing or invalid
 */
export async function findServer(
  environment: Readonly<Record<string, string | undefined>>,
  named: string | undefined,
): Promise<ServerAddress> {
  const url = environment['WORKSPACE_URL']
  if (named === undefined && url !== undefined && url !== '')
    return {
      name: 'WORKSPACE_URL',
      url: checkUrl(url, 'WORKSPACE_URL'),
      tokenFile: environment['WORKSPACE_TOKEN_FILE'] || undefined,
      busTokenFile: environment['WORKSPACE_BUS_TOKEN_FILE'] || undefined,
    }
  const settings = await readSettings(environment)
  const name = named ?? settings.defaultServer
  if (name === undefined) return findLocal(environment)
  return serverOf(name, settings)
}

/** Returns the server on this machine: at the address recorded in this user's state directory, else at the default address. */
async function findLocal(environment: Readonly<Record<string, string | undefined>>): Promise<ServerAddress> {
  const record = await findServerRecord(defaultStateDir(environment))
  return record === undefined
    ? LOCAL
    : { ...LOCAL, url: record.url, tokenFile: record.tokenFile ?? undefined }
}

/** A configured server, or why its configuration is invalid. */
export type ConfiguredServer = ServerAddress | { readonly name: string; readonly fault: Fault }

/** Returns every configured server, or the default one if none is configured. */
export async function findAllServers(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly ConfiguredServer[]> {
  const settings = await readSettings(environment)
  const names = Object.keys(settings.servers)
  if (names.length === 0) return [await findServer(environment, undefined)]
  return names.map((name) => {
    try {
      return serverOf(name, settings)
    } catch (error) {
      if (isFault(error)) return { name, fault: error }
      throw error
    }
  })
}

function serverOf(name: string, settings: CliSettings): ServerAddress {
  const server = settings.servers[name]
  if (server?.url === undefined) {
    if (server !== undefined) throw cliFault('SERVER_URL_INVALID', `server "${name}" has no url`)
    const names = Object.keys(settings.servers).join(', ') || 'none'
    throw cliFault(
      'SERVER_UNKNOWN',
      `server "${name}" is not in the CLI's configuration; configured servers: ${names}`,
    )
  }
  return {
    name,
    url: checkUrl(server.url, `server "${name}"`),
    tokenFile: server.tokenFile,
    busTokenFile: server.busTokenFile,
    ssh: server.ssh,
  }
}

/** Returns a valid URL of a server. @throws SERVER_URL_INVALID */
export function checkUrl(url: string, whose: string): string {
  if (/^(?:https?:\/\/|unix:\/\/\/.)/.test(url) && URL.canParse(url)) return url
  throw cliFault(
    'SERVER_URL_INVALID',
    `${whose}: "${url}" is not a valid server URL; use one such as http://127.0.0.1:8080 or unix:///path/to/socket`,
  )
}

/** Reads the CLI's configuration. Loads the validator, which takes longer than a typical command, only if there is one. */
async function readSettings(environment: Readonly<Record<string, string | undefined>>): Promise<CliSettings> {
  const isGiven =
    findConfigFile({ ...sources, environment }) !== undefined ||
    environmentKeys(sources.environmentPrefix, cliSchema).some(({ variable }) => variable in environment)
  if (!isGiven) return { servers: {}, defaultServer: undefined }
  const { loadConfig } = await import('../../lib/config/load.ts')
  return loadConfig({ ...sources, environment }).decoded
}
