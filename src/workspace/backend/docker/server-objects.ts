import { fault } from '../../errors.ts'
import { DockerEngine, engineStatus, REMOVAL_DEADLINE_MS } from './engine/engine.ts'
import { engineName, isOwn, type Labels, ownFilter, workspaceNameOf } from './engine/labels.ts'

/** A container, volume or network of an engine. */
export interface EngineObject {
  readonly kind: 'container' | 'volume' | 'network'
  readonly id: string
  /** Undefined for an object that belongs to no workspace. */
  readonly workspace: string | undefined
  /** The command that removes it. */
  readonly command: string
}

/** Containers, volumes and networks of one server, independent of the server. */
export class ServerObjects {
  readonly #engine: DockerEngine
  readonly #serverId: string

  private constructor(engine: DockerEngine, serverId: string) {
    this.#engine = engine
    this.#serverId = serverId
  }

  static async open(host: string | undefined, serverId: string): Promise<ServerObjects> {
    const engine = new DockerEngine(host)
    await engine.open(() => undefined)
    return new ServerObjects(engine, serverId)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  async list(): Promise<readonly EngineObject[]> {
    const { docker } = this.#engine
    const filters = { label: ownFilter(this.#serverId) }
    const [containers, { Volumes: volumes }, networks] = await Promise.all([
      this.#engine.call('listing containers', () => docker.listContainers({ all: true, filters })),
      this.#engine.call('listing volumes', () => docker.listVolumes({ filters })),
      this.#engine.call('listing networks', () => docker.listNetworks({ filters })),
    ])
    return [
      ...containers.map(({ Id, Labels }) => this.#object('container', Id, Labels)),
      ...volumes.map(({ Name, Labels }) => this.#object('volume', Name, Labels)),
      ...networks.map(({ Name, Labels }) => this.#object('network', Name, Labels)),
    ]
  }

  /** Removes an object. @throws BACKEND_ERROR when it does not belong to the server, or cannot be removed */
  async remove({ kind, id }: EngineObject): Promise<void> {
    const { docker } = this.#engine
    if (!isOwn(await this.#labelsOf(kind, id), this.#serverId))
      throw fault('BACKEND_ERROR', `${kind} ${id} does not belong to this run`)
    await this.#engine.call(
      `removing ${kind} ${id}`,
      async (abortSignal) => {
        if (kind === 'container') await docker.getContainer(id).remove({ force: true, v: true, abortSignal })
        else if (kind === 'volume') await docker.getVolume(id).remove({ abortSignal })
        else await docker.getNetwork(id).remove({ abortSignal })
      },
      { deadlineMs: REMOVAL_DEADLINE_MS },
    )
  }

  /** Kills the main process of a workspace. @throws BACKEND_ERROR when it does not run or belong to the server */
  async kill(workspace: string): Promise<void> {
    const name = engineName(workspace)
    if (!isOwn(await this.#labelsOf('container', name), this.#serverId))
      throw fault('BACKEND_ERROR', `container ${name} does not belong to this run`)
    await this.#engine.call(`killing container ${name}`, (abortSignal) =>
      this.#engine.docker.getContainer(name).kill({ signal: 'SIGKILL', abortSignal }),
    )
  }

  #object(kind: EngineObject['kind'], id: string, labels: Labels | undefined): EngineObject {
    const subcommand = { container: 'rm -f -v', volume: 'volume rm', network: 'network rm' }[kind]
    const command = `docker ${subcommand} ${id}`
    return { kind, id, workspace: workspaceNameOf(labels), command }
  }

  async #labelsOf(kind: EngineObject['kind'], id: string): Promise<Labels | undefined> {
    const { docker } = this.#engine
    try {
      return await this.#engine.call(`inspecting ${kind} ${id}`, async () => {
        if (kind === 'container') return (await docker.getContainer(id).inspect()).Config.Labels
        if (kind === 'volume') return (await docker.getVolume(id).inspect()).Labels
        return ((await docker.getNetwork(id).inspect()) as { readonly Labels?: Labels }).Labels
      })
    } catch (error) {
      if (engineStatus(error) === 404) return undefined
      throw error
    }
  }
}
