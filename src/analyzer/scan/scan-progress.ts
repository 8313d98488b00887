import type { IncompleteEntry } from './listed-entry.ts'

/** Progress of a running scan. */
export interface ScanProgress {
  /** Resolving the class path, listing its classes, or reading those that are not in the index. */
  readonly step: 'resolving' | 'listing' | 'reading'
  /** Folder or archive that was read last; null until then. */
  readonly path: string | null
  /** Classes read, of those that have to be. */
  readonly readCount: number
  readonly classCount: number
}

/** Counts what a scan reads. */
export class ProgressCounter {
  #view: ScanProgress | undefined
  /** Number of classes of the slices to read, by key. */
  #counts: ReadonlyMap<string, number> = new Map()

  /** Undefined unless a scan is running. */
  get view(): ScanProgress | undefined {
    return this.#view
  }

  begin(step: 'resolving' | 'listing'): void {
    this.#view = { step, path: null, readCount: 0, classCount: 0 }
  }

  beginReading(entries: readonly IncompleteEntry[]): void {
    this.#counts = new Map(
      entries.flatMap(({ listing }) => listing.slices.map(({ key, count }) => [key, count])),
    )
    const classCount = this.#countOf(entries.flatMap(({ keys }) => keys))
    this.#view = { step: 'reading', path: null, readCount: 0, classCount }
  }

  /** Counts slices of an entry as read. */
  addRead(path: string, keys: readonly string[]): void {
    if (this.#view !== undefined)
      this.#view = { ...this.#view, path, readCount: this.#view.readCount + this.#countOf(keys) }
  }

  end(): void {
    this.#view = undefined
    this.#counts = new Map()
  }

  #countOf(keys: readonly string[]): number {
    return keys.reduce((sum, key) => sum + (this.#counts.get(key) ?? 0), 0)
  }
}
