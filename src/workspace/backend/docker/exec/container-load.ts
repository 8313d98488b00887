import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Load } from '../../backend.ts'
import { CONTROL_GROUPS, controlGroupsOf } from '../engine/control-groups.ts'

/**
 * File names and formats of one version of control groups. Source: the kernel's cgroup-v1/ and cgroup-v2.rst.
 */
interface Version {
  readonly cpu: string
  readonly memory: string
  readonly cpuFile: string
  readonly cpuMsOf: (text: string) => number
  readonly memoryFile: string
  readonly cacheField: string
}

const VERSIONS: readonly Version[] = [
  {
    cpu: '',
    memory: '',
    cpuFile: 'cpu.stat',
    cpuMsOf: (text) => field(text, 'usage_usec') / 1e3,
    memoryFile: 'memory.current',
    cacheField: 'inactive_file',
  },
  {
    cpu: 'cpuacct',
    memory: 'memory',
    cpuFile: 'cpuacct.usage',
    cpuMsOf: (text) => Number(text) / 1e6,
    memoryFile: 'memory.usage_in_bytes',
    cacheField: 'total_inactive_file',
  },
]

interface ControlGroup {
  readonly version: Version
  readonly path: string
}

/**
 * Reads resource usage from containers' control groups, when those are on this machine; never asks the
 * engine.
 */
export class ContainerLoads {
  readonly #root: string
  /** Control groups found so far, by container. */
  readonly #controlGroups = new Map<string, ControlGroup>()

  constructor(root = CONTROL_GROUPS) {
    this.#root = root
  }

  /** Returns the load of each container that can be measured. */
  async readAll(containerIds: readonly string[]): Promise<ReadonlyMap<string, Load>> {
    const asked = new Set(containerIds)
    for (const id of this.#controlGroups.keys()) if (!asked.has(id)) this.#controlGroups.delete(id)
    const read = await Promise.all(containerIds.map(async (id) => [id, await this.#read(id)] as const))
    return new Map(read.flatMap(([id, load]) => (load === undefined ? [] : [[id, load] as const])))
  }

  async #read(containerId: string): Promise<Load | undefined> {
    const controlGroup = this.#controlGroups.get(containerId) ?? (await this.#find(containerId))
    if (controlGroup === undefined) return undefined
    this.#controlGroups.set(containerId, controlGroup)
    const { version, path } = controlGroup
    const file = (controller: string, name: string): Promise<string> =>
      readFile(join(this.#root, controller, path, name), 'utf8')
    try {
      const [cpu, memory, stat] = await Promise.all([
        file(version.cpu, version.cpuFile),
        file(version.memory, version.memoryFile),
        file(version.memory, 'memory.stat'),
      ])
      // Like `docker stats`: page cache that the kernel can drop at any time does not count as used.
      const memoryBytes = Math.max(0, Number(memory) - field(stat, version.cacheField))
      return { cpuMs: version.cpuMsOf(cpu), memoryBytes }
    } catch {
      // The container stopped; its next control group may be elsewhere.
      this.#controlGroups.delete(containerId)
      return undefined
    }
  }

  /** Returns undefined for a container on another machine, or one whose engine uses an unknown path. */
  async #find(containerId: string): Promise<ControlGroup | undefined> {
    for (const version of VERSIONS)
      for (const path of controlGroupsOf(containerId)) {
        const file = join(this.#root, version.memory, path, version.memoryFile)
        const isThere = await access(file).then(
          () => true,
          () => false,
        )
        if (isThere) return { version, path }
      }
    return undefined
  }
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}
