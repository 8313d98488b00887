import type { Backend, Bytes, UsagePart } from '../backend/backend.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { BackendName, Workspace } from '../workspace.ts'

interface ImageUsage {
  readonly name: string
  readonly path: string
  readonly backend: BackendName
  readonly size: Bytes
}

interface WorkspaceUsage {
  readonly workspace: Workspace
  readonly parts: readonly UsagePart[]
  readonly total: Bytes
}

/** What images and workspaces take on disk at one moment. */
export interface DiskReport {
  readonly generatedAt: Date
  readonly images: readonly ImageUsage[]
  readonly workspaces: readonly WorkspaceUsage[]
  readonly totals: { readonly images: Bytes; readonly workspaces: Bytes; readonly all: Bytes }
  /** What could not be measured, in sentences. */
  readonly notes: readonly string[]
}

/** Measures all backends, each with its own means. */
export class DiskReporter {
  readonly #table: WorkspaceTable
  readonly #backends: readonly Backend[]
  readonly #now: () => Date

  constructor(table: WorkspaceTable, backends: Iterable<Backend>, now: () => Date) {
    this.#table = table
    this.#backends = [...backends]
    this.#now = now
  }

  /** Throws BACKEND_UNAVAILABLE when a backend's engine goes away meanwhile. */
  async report(): Promise<DiskReport> {
    const images: ImageUsage[] = []
    const workspaces: WorkspaceUsage[] = []
    const notes: string[] = []
    for (const backend of this.#backends) {
      if (!backend.isAvailable) {
        notes.push(`${backend.name}: not measured, its engine does not answer`)
        continue
      }
      const usage = await backend.usage()
      images.push(...usage.images.map((image) => ({ ...image, backend: backend.name })))
      for (const [name, parts] of usage.workspaces) {
        const workspace = this.#table.find(name)
        if (workspace) workspaces.push({ workspace, parts, total: sum(parts.map((part) => part.size)) })
      }
      notes.push(...usage.notes)
    }
    const imageTotal = sum(images.map((image) => image.size))
    const workspaceTotal = sum(workspaces.map((workspace) => workspace.total))
    const totals = { images: imageTotal, workspaces: workspaceTotal, all: sum([imageTotal, workspaceTotal]) }
    return { generatedAt: this.#now(), images, workspaces, totals, notes }
  }
}

function sum(sizes: readonly Bytes[]): Bytes {
  return {
    logicalBytes: sizes.reduce((total, size) => total + size.logicalBytes, 0),
    physicalBytes: sizes.reduce((total, size) => total + size.physicalBytes, 0),
  }
}
