import type { BackendUsage } from '../../../../src/workspace/backend/backend.ts'
import type { Workspace } from '../../../../src/workspace/workspace.ts'
import { FakeBackend } from './fake-backend.ts'

/** An engine with objects that the server did not create, and with arbitrary labels. */
export class CrowdedBackend extends FakeBackend {
  readonly #crowd: Map<string, Workspace>

  constructor(crowd: readonly Workspace[]) {
    super()
    this.#crowd = new Map(crowd.map((each) => [each.name, each]))
    crowd.forEach(({ containerId }, index) =>
      this.loadsNow.set(containerId, { cpuMs: index, memoryBytes: (index + 1) * 2 ** 20 }),
    )
  }

  override list(): Promise<readonly Workspace[]> {
    return Promise.resolve([...this.#crowd.values()])
  }

  override find(name: string): Promise<Workspace | undefined> {
    return Promise.resolve(this.#crowd.get(name))
  }

  /** Each of the crowd uses more than the previous one. */
  override usage(): Promise<BackendUsage> {
    const sizeOf = (index: number) => ({
      files: 1,
      logicalBytes: (index + 2) * 2 ** 20,
      physicalBytes: (index + 1) * 2 ** 20,
    })
    const parts = [...this.#crowd.keys()].map(
      (name, index) => [name, [{ kind: 'volume', path: '/fake', size: sizeOf(index) }]] as const,
    )
    return Promise.resolve({
      images: [{ name: 'fake:1', path: '/fake', dockerRef: 'fake:1', size: sizeOf(this.#crowd.size) }],
      workspaces: new Map(parts),
      snapshots: [],
      notes: [],
    })
  }

  /** Reports a change of one of the crowd behind the server's back. */
  change(name: string, state: Workspace['state']): void {
    const workspace = this.#crowd.get(name)
    if (workspace === undefined) throw new Error(`no ${name} in the crowd`)
    this.#crowd.set(name, { ...workspace, state })
    this.happen(name, state)
  }
}

/** A workspace that has been running for an hour, with overrides. */
export function workspaceLike(name: string, fields: Partial<Workspace> = {}): Workspace {
  return {
    name,
    createdAt: new Date(Date.now() - 3_600_000),
    image: 'workspace-base:1',
    repo: 'https://github.com/acme/api',
    localDir: '',
    cpus: 0,
    memoryMb: 0,
    forwardPorts: [],
    backend: 'docker',
    state: { is: 'running' },
    containerId: `id-${name}`,
    ipAddress: '',
    pid: 0,
    rootfsPath: '',
    ...fields,
  }
}
