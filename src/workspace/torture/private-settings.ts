import type { BackendName } from '../backend-name.ts'
import type { WorkspaceConfig } from '../config.ts'
import { fault } from '../errors.ts'

/**
 * Settings of the user's server that the server of a run shares. All others have their defaults, so that it joins no
 * cluster, writes no audit file and stores no users.
 */
const SHARED = ['default_image', 'image_aliases', 'network', 'docker'] as const

/**
 * Returns the settings of the server of a run, in the shape of a config file.
 *
 * @throws INVALID_REQUEST for another backend than docker
 */
export function privateSettings(
  settings: Readonly<Record<string, unknown>>,
  { docker }: Pick<WorkspaceConfig, 'docker'>,
  backend: BackendName,
): Readonly<Record<string, unknown>> {
  if (backend !== 'docker')
    throw fault(
      'INVALID_REQUEST',
      `runs on the backend ${backend} are not supported; use --backend docker, which needs only an engine`,
    )
  const shared = Object.fromEntries(SHARED.map((key) => [key, settings[key]]))
  return {
    ...shared,
    name: 'torture',
    // DOCKER_HOST counts like the setting.
    docker: {
      ...(shared['docker'] as object | undefined),
      ...(docker.host !== undefined && { host: docker.host }),
    },
    default_backend: backend,
    enabled_backends: [backend],
    http: { host: '127.0.0.1', port: 0 },
    ssh: { host: '127.0.0.1', port: 0 },
    log: { level: 'info', format: 'json' },
  }
}

/** Returns an environment without the settings of the user's server. */
export function privateEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('WORKSPACE')))
}
