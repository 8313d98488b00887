import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { LogSource, LogStore } from './log-store.ts'

const DRAIN_LIMIT_MS = 500

/** What is kept of a process's lines. */
export interface LogSettings {
  readonly bufferLines: number
  readonly bufferBytes: number
  /** Where its lines are written to; nowhere when left out. */
  readonly file: string | undefined
  readonly maxFileBytes: number
  readonly keepFiles: number
  readonly hasTimes: boolean
}

/** The lines of all processes, by name. A name keeps its lines when its process is replaced. */
export class ProcessLogs {
  readonly store: LogStore
  readonly #sources = new Map<string, LogSource>()

  constructor(store: LogStore) {
    this.store = store
  }

  /** Makes place for a process's lines, or changes how much of them is kept. */
  open(process: string, settings: LogSettings): LogSource {
    const bounds = { lines: settings.bufferLines, bytes: settings.bufferBytes }
    let source = this.#sources.get(process)
    if (source === undefined) this.#sources.set(process, (source = this.store.add(bounds)))
    else source.setBounds(bounds)
    source.writeTo(
      settings.file === undefined
        ? undefined
        : {
            path: settings.file,
            maxBytes: settings.maxFileBytes,
            keep: settings.keepFiles,
            hasTimes: settings.hasTimes,
          },
    )
    return source
  }

  /** Resolves when what the processes have printed is read to its end, or after a while where somebody holds an output open. */
  drained(clock: AlarmClock): Promise<void> {
    const isDrained = (): boolean =>
      [...this.#sources.values()].every((source) => source.counts().openStreams === 0)
    return new Promise((resolve) => {
      const end = (): void => {
        unlisten()
        cancel()
        resolve()
      }
      const unlisten = this.store.onLines(() => {
        if (isDrained()) end()
      })
      const cancel = clock.after(DRAIN_LIMIT_MS, end)
      if (isDrained()) end()
    })
  }

  remove(process: string): void {
    this.#sources.get(process)?.remove()
    this.#sources.delete(process)
  }

  find(process: string): LogSource | undefined {
    return this.#sources.get(process)
  }

  /** Those of the named processes, or of all; names that are not there are left out. */
  select(processes: readonly string[] | undefined): readonly (readonly [name: string, source: LogSource])[] {
    if (processes === undefined) return [...this.#sources]
    return [...new Set(processes)].flatMap((name) => {
      const source = this.#sources.get(name)
      return source === undefined ? [] : [[name, source] as const]
    })
  }
}
