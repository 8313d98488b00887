import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { LogSource, LogStore } from './log-store.ts'

const DRAIN_LIMIT_MS = 500

/** Limits and file of a process's lines. */
export interface LogSettings {
  readonly bufferLines: number
  readonly bufferBytes: number
  /** Path of the log file; default: none. */
  readonly file: string | undefined
  readonly maxFileBytes: number
  readonly keepFiles: number
  readonly hasTimes: boolean
}

/** Lines of all processes by name. A name keeps its lines when its process is replaced. */
export class ProcessLogs {
  readonly store: LogStore
  readonly #sources = new Map<string, LogSource>()

  constructor(store: LogStore) {
    this.store = store
  }

  /** Opens the source of a process's lines, or changes its settings. */
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

  /** Resolves when all output has been read, or after a timeout if an output is still open. */
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

  /** Returns the sources of the named processes, or all; unknown names are ignored. */
  select(processes: readonly string[] | undefined): readonly (readonly [name: string, source: LogSource])[] {
    if (processes === undefined) return [...this.#sources]
    return [...new Set(processes)].flatMap((name) => {
      const source = this.#sources.get(name)
      return source === undefined ? [] : [[name, source] as const]
    })
  }
}
