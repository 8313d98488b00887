import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { punchHoles } from '../../native/files/deallocate.ts'
import { findMachine } from '../backend/microvm/stray-machines.ts'
import type { Bytes } from '../bytes.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import { sumBytes } from './bytes.ts'
import { findFreeStretches } from './free-blocks.ts'
import { filesOf, type MachineRoot } from './machine-root.ts'
import type { Skipped } from './prune/candidate.ts'

const BLOCK_BYTES = 512

interface CompactedItem {
  readonly name: string
  readonly path: string
  readonly backend: BackendName
  readonly freed: Bytes
  /** The error message if it failed; '' otherwise. */
  readonly error: string
}

/** Result of a compaction. */
export interface CompactReport {
  readonly items: readonly CompactedItem[]
  readonly skipped: readonly Skipped[]
  readonly freed: Bytes
}

/** Dependencies of a Compactor. */
export interface CompactorOptions {
  readonly table: WorkspaceTable
  readonly lifecycle: Lifecycle
  readonly roots: readonly MachineRoot[]
}

/** Returns blocks that guests have freed on the disks of stopped VMs to the host. */
export class Compactor {
  readonly #options: CompactorOptions
  readonly #closing = new AbortController()

  constructor(options: CompactorOptions) {
    this.#options = options
  }

  close(): void {
    this.#closing.abort()
  }

  /** Compacts the named workspaces, or all. @throws WORKSPACE_NOT_FOUND when a name is unknown */
  async compact(
    names: readonly string[],
    progress: (message: string) => void = () => undefined,
  ): Promise<CompactReport> {
    const { table, roots, lifecycle } = this.#options
    const workspaces = names.length === 0 ? table.list() : names.map((name) => table.get(name))
    const items: CompactedItem[] = []
    const skipped: Skipped[] = []
    for (const { name, backend } of workspaces) {
      const root = roots.find((each) => each.backend === backend)
      const path = root === undefined ? '' : filesOf(root).upperOf(name)
      const skip = (reason: string): void => void skipped.push({ kind: 'upper', name, path, reason })
      if (root === undefined) {
        skip('its backend has no separate disk')
        continue
      }
      progress(`compacting ${name}`)
      const done = await lifecycle.whileIdle(name, async (workspace) => {
        const why = await whyNot(workspace, path)
        if (why !== '') {
          skip(why)
          return 'done'
        }
        try {
          const physicalBytes = await punch(path, this.#closing.signal)
          items.push({ name, path, backend, error: '', freed: { files: 0, logicalBytes: 0, physicalBytes } })
        } catch (error) {
          const freed = { files: 0, logicalBytes: 0, physicalBytes: 0 }
          items.push({ name, path, backend, freed, error: messageOf(error) })
        }
        return 'done'
      })
      if (done === undefined) skip('it is being created')
    }
    return { items, skipped, freed: sumBytes(items.map(({ freed }) => freed)) }
  }
}

async function whyNot(workspace: Workspace | undefined, path: string): Promise<string> {
  if (workspace === undefined) return 'it no longer exists'
  if (workspace.state.is !== 'stopped') return `cannot compact ${workspace.state.is} workspace`
  const [user] = await findMachine({ disk: path })
  return user === undefined ? '' : `process ${user.pid} has its disk open`
}

/** Punches holes where the file system inside is free; returns the number of bytes freed. */
async function punch(path: string, signal: AbortSignal): Promise<number> {
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    // While data is being written, the kernel can count its blocks twice: as reserved and as allocated.
    await file.sync()
    const before = await file.stat()
    if (!before.isFile()) throw new Error('it is not a regular file')
    // A second name may belong to a running VM.
    if (before.nlink !== 1) throw new Error('it has other hard links')
    const free = await findFreeStretches(path, signal)
    if (!(await punchHoles(file.fd, free, signal)))
      throw new Error('its file system does not support punching holes')
    await file.sync()
    return Math.max(0, before.blocks - (await file.stat()).blocks) * BLOCK_BYTES
  } finally {
    await file.close()
  }
}
