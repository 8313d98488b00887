import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Backend, BackendUsage, ImagePart, MeasuredPart, UsagePart } from '../backend/backend.ts'
import type { Bytes } from '../bytes.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { WorkspaceState } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import { NOTHING, sumBytes } from './bytes.ts'
import type { MachineRoot } from './machine-root.ts'
import { type Measured, measure } from './measure.ts'
import { findOrphans, type Orphan } from './orphans.ts'
import { SharedWalk } from './shared-walk.ts'
import type { Walker, WalkWork } from './walker.ts'
import type { Clock } from '../../lib/clock/clock.ts'

/** An image or snapshot with its size. */
export interface MeasuredImage {
  readonly name: string
  readonly path: string
  readonly dockerRef: string
  readonly backend: BackendName
  readonly size: Bytes
}

interface MeasuredWorkspace {
  readonly name: string
  readonly backend: BackendName
  readonly image: string
  /** `kept`: deleted, but its files were kept. */
  readonly status: WorkspaceState['is'] | 'kept'
  readonly parts: readonly (UsagePart & { readonly size: Bytes })[]
  readonly total: Bytes
}

/** Disk usage of everything at one moment. */
export interface DiskReport {
  readonly generatedAt: Date
  readonly images: readonly MeasuredImage[]
  readonly workspaces: readonly MeasuredWorkspace[]
  readonly snapshots: readonly MeasuredImage[]
  readonly orphans: readonly (Orphan & { readonly size: Bytes })[]
  readonly totals: {
    readonly images: Bytes
    readonly workspaces: Bytes
    readonly snapshots: Bytes
    readonly orphans: Bytes
    readonly all: Bytes
    /** Bytes that `all` counts more than once; subtracting them yields the actual usage. */
    readonly sharedBytes: number
  }
  /** Sentences about what could not be measured. */
  readonly notes: readonly string[]
}

/** Dependencies of a DiskReporter. */
export interface DiskReporterOptions {
  readonly table: WorkspaceTable
  readonly backends: readonly Backend[]
  readonly roots: readonly MachineRoot[]
  readonly walker: Walker
  readonly clock: Clock
}

/** Maximum age of a cached report; an older one is returned one last time while a new one is measured. */
const FRESH_MS = 30_000

/** Measures the disk usage of all backends in one walk. */
export class DiskReporter {
  readonly #options: DiskReporterOptions
  readonly #walk = new SharedWalk((work) => this.#measure(work))
  #last: DiskReport | undefined
  #making: Promise<DiskReport> | undefined

  constructor(options: DiskReporterOptions) {
    this.#options = options
  }

  /** Returns the last report if there is one, and refreshes a stale one in the background. */
  async cached(): Promise<DiskReport> {
    const last = this.#last
    if (last === undefined) return this.#join()
    const ageMs = this.#options.clock.wallMs() - last.generatedAt.getTime()
    if (ageMs < 0 || ageMs > FRESH_MS)
      this.#join().catch(ignore('the last report shows its age, and the next call measures again'))
    return last
  }

  /** Measures now, together with other callers that are waiting. */
  async report(work: WalkWork = {}): Promise<DiskReport> {
    return (this.#last = await this.#walk.run(work))
  }

  /** Shares one measurement among all callers that accept a cached report. */
  #join(): Promise<DiskReport> {
    this.#making ??= this.report().finally(() => (this.#making = undefined))
    return this.#making
  }

  async #measure(work: WalkWork): Promise<DiskReport> {
    const { backends, roots, walker, clock } = this.#options
    const notes: string[] = []
    const failures: unknown[] = []
    const usages = new Map<Backend, BackendUsage>()
    for (const backend of backends) {
      try {
        usages.set(backend, await backend.usage())
      } catch (error) {
        failures.push(error)
        notes.push(`${backend.name}: not measured (${messageOf(error)})`)
      }
    }
    const found: Orphan[] = []
    for (const root of roots) {
      const findings = await findOrphans(root, new Date(clock.wallMs()))
      found.push(...findings.orphans)
      notes.push(...findings.notes)
    }
    // A report of nothing would show that nothing is used.
    if (usages.size + found.length === 0 && failures.length > 0) throw failures[0]
    const parts: MeasuredPart[] = [...found]
    for (const { images, workspaces, snapshots } of usages.values())
      parts.push(...images, ...[...workspaces.values()].flat(), ...snapshots)
    const measured = await measure(walker, parts, work)
    const rows = await Promise.all(
      [...usages].map(([backend, usage]) => this.#rowsOf(backend, usage, measured)),
    )
    const images = rows.flatMap((row) => row.images)
    const workspaces = rows.flatMap((row) => row.workspaces)
    const snapshots = rows.flatMap((row) => row.snapshots)
    const orphans = found.map((orphan) => ({ ...orphan, size: measured.sizeOf(orphan) }))
    const totals = {
      images: sumBytes(images.map(({ size }) => size)),
      workspaces: sumBytes(workspaces.map(({ total }) => total)),
      snapshots: sumBytes(snapshots.map(({ size }) => size)),
      orphans: sumBytes(orphans.map(({ size }) => size)),
    }
    return {
      generatedAt: new Date(clock.wallMs()),
      images,
      workspaces,
      snapshots,
      orphans,
      totals: { ...totals, all: sumBytes(Object.values(totals)), sharedBytes: measured.sharedBytes },
      notes: [...notes, ...[...usages.values()].flatMap((usage) => usage.notes), ...measured.notes],
    }
  }

  async #rowsOf(from: Backend, usage: BackendUsage, { sizeOf }: Measured) {
    const { name: backend } = from
    const imageOf = (part: ImagePart): MeasuredImage => {
      const { name, path, dockerRef } = part
      return { name, path, dockerRef, backend, size: sizeOf(part) }
    }
    const rowOf = async ([name, all]: readonly [
      string,
      readonly UsagePart[],
    ]): Promise<MeasuredWorkspace> => {
      const named = this.#options.table.find(name)
      // A workspace missing from the table was deleted with its files kept, or has just entered state
      // `error`.
      const workspace =
        named?.backend === backend
          ? named
          : await from.find(name).catch(ignore('its files are shown under their name'))
      const parts = all.map((part) => ({ ...part, size: sizeOf(part) }))
      const total = sumBytes([NOTHING, ...parts.map(({ size }) => size)])
      return {
        name: workspace?.name ?? name,
        backend,
        image: workspace?.image ?? '',
        status: workspace?.state.is ?? 'kept',
        parts,
        total,
      }
    }
    const workspaces = await Promise.all([...usage.workspaces].map(rowOf))
    return { images: usage.images.map(imageOf), workspaces, snapshots: usage.snapshots.map(imageOf) }
  }
}
