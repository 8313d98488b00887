import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'
import type { BackendCreate } from '../backend.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import { type ContainerLimits, containerOptions } from './container.ts'
import { engineName, isCopyOfWorkspace } from './engine/labels.ts'
import { type DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from './engine/engine.ts'
import { isReference, pullImage } from './images/image.ts'
import { MOUNT_POINT, type MountedSocketDirs } from './exec/mounted-socket-dirs.ts'
import type { Labels } from './engine/labels.ts'
import { userFor } from './engine/owner.ts'
import type { PulledImages } from './images/pulled-images.ts'

/** Errors of engines for a user that is not in the image's /etc/passwd, or a number that no user has. */
const UNKNOWN_USER = /unable to find user|uids and gids must be in range/

type Container = ReturnType<DockerEngine['docker']['getContainer']>

interface Start {
  readonly request: BackendCreate
  readonly labels: Labels
  readonly network: string | undefined
  readonly isIsolated: boolean
  readonly policy: NetworkPolicy | undefined
  readonly limits: ContainerLimits | undefined
  readonly mountedSocketDirs: MountedSocketDirs | undefined
  readonly pulled: PulledImages | undefined
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Creates and starts a workspace's container, pulling its image when missing. It mounts the server's socket
 * directory if the engine can, and goes without if the engine does not share this machine's files.
 */
export async function startContainer(engine: DockerEngine, start: Start): Promise<Container> {
  const { request, mountedSocketDirs } = start
  const mountedSocketDir = await mountedSocketDirs
    ?.create(request.name)
    .catch(ignore('without it, programs start through the engine'))
  try {
    return await startForUser(engine, start, mountedSocketDir)
  } catch (error) {
    if (mountedSocketDir === undefined || !isAboutMount(error, mountedSocketDir)) throw error
    await removeUnstarted(engine, request.name)
    await mountedSocketDirs?.remove(request.name)
    return startForUser(engine, start, undefined)
  }
}

/** Starts it for the image's own user if the image does not have the requested one. */
async function startForUser(
  engine: DockerEngine,
  start: Start,
  mountedSocketDir: string | undefined,
): Promise<Container> {
  try {
    return await makeAndStart(engine, start, mountedSocketDir)
  } catch (error) {
    const { request } = start
    if (request.user === undefined || !UNKNOWN_USER.test(messageOf(error))) throw error
    request.warn?.(`image ${request.image} has no user "${request.user}"; programs run as the image's user`)
    await removeUnstarted(engine, request.name)
    return makeAndStart(engine, { ...start, request: { ...request, user: undefined } }, mountedSocketDir)
  }
}

async function makeAndStart(
  engine: DockerEngine,
  start: Start,
  mountedSocketDir: string | undefined,
): Promise<Container> {
  start.progress('creating the container')
  // Includes pulling the image, if it is missing.
  start.request.enterPhase?.('image')
  const container = await make(engine, start, mountedSocketDir)
  start.progress('starting the container')
  start.request.enterPhase?.('boot')
  await engine.make('starting the container', start.signal, (abortSignal) => container.start({ abortSignal }))
  return container
}

async function make(
  engine: DockerEngine,
  start: Start,
  mountedSocketDir: string | undefined,
): Promise<Container> {
  const { request, labels, pulled, progress, signal, ...place } = start
  if (request.isBuilt !== true && isCopyOfWorkspace(request.image))
    throw fault(
      'INVALID_REQUEST',
      `image ${request.image} has the files of a workspace; fork the workspace instead`,
    )
  const user = request.user ?? (request.localDir === '' ? undefined : await userFor(request.localDir))
  const create = () =>
    engine.make('creating the container', signal, (abortSignal) =>
      engine.docker.createContainer({
        ...containerOptions(request, labels, { ...place, user, mountedSocketDir }),
        abortSignal,
      }),
    )
  try {
    return await create()
  } catch (error) {
    if (engineStatus(error) === 409) throw ownedByAnotherServer(request.name)
    const status = engineStatus(error)
    if (status === 400 && isReference(request.image))
      throw fault('INVALID_REQUEST', `the engine refuses the container: ${messageOf(error)}`, error)
    // If the engine rejects the reference as well, the pull reports that.
    // No registry has the image of a fork or of a build.
    if ((status !== 404 && status !== 400) || request.fork !== undefined || request.isBuilt === true)
      throw error
    await pullImage(engine, request.image, { progress, signal, pulled })
    return create()
  }
}

/**
 * Returns whether an error concerns the mount. Engines name the path, some when the container is created and
 * some when it starts.
 */
function isAboutMount(error: unknown, mountedSocketDir: string): boolean {
  return (
    error instanceof Error && [mountedSocketDir, MOUNT_POINT].some((path) => error.message.includes(path))
  )
}

async function removeUnstarted(engine: DockerEngine, name: string): Promise<void> {
  try {
    await engine.call(
      'removing the container',
      (abortSignal) =>
        engine.docker.getContainer(engineName(name)).remove({ force: true, v: true, abortSignal }),
      { deadlineMs: REMOVAL_DEADLINE_MS },
    )
  } catch (error) {
    if (engineStatus(error) !== 404) throw error
  }
}

/** Returns the error for a container or volume that belongs to another server. */
export function ownedByAnotherServer(name: string) {
  return fault(
    'WORKSPACE_ALREADY_EXISTS',
    `container or volume ${engineName(name)} belongs to another server; choose another name`,
  )
}
