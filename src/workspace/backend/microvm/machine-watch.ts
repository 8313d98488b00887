import { nameKey } from '../../name.ts'
import { boundLog } from './monitor/console-log.ts'
import type { Driver } from './driver.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { isRunning } from './monitor/machine-process.ts'
import type { Metadata } from './files/metadata.ts'

const LOOK_EVERY_MS = 500
/** At every so many looks the consoles' logs are looked at too. */
const BOUND_EVERY = 20

/**
 * Notices machines that end by themselves. By looking: those that an earlier server started are nobody's children, and tell
 * nobody.
 */
export class MachineWatch {
  readonly #files: MachineFiles
  readonly #driver: Driver
  readonly #onEnd: (name: string) => Promise<void>
  /** Machines that are to run, by name. */
  readonly #machines = new Map<string, Metadata>()
  #timer: NodeJS.Timeout | undefined
  #looks = 0
  #isLooking = false

  constructor(files: MachineFiles, driver: Driver, onEnd: (name: string) => Promise<void>) {
    this.#files = files
    this.#driver = driver
    this.#onEnd = onEnd
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.#isLooking) return
      this.#isLooking = true
      void this.#look().finally(() => (this.#isLooking = false))
    }, LOOK_EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  add(metadata: Metadata): void {
    this.#machines.set(nameKey(metadata.name), metadata)
  }

  remove(name: string): void {
    this.#machines.delete(nameKey(name))
  }

  has(name: string): boolean {
    return this.#machines.has(nameKey(name))
  }

  async #cutLogs(name: string): Promise<void> {
    const logs = [this.#files.monitorLogOf(name)]
    // Cut under a writer that does not append, its next line would land where the end was, behind a hole.
    if (this.#driver.console === 'appended') logs.push(this.#files.consoleOf(name))
    for (const log of logs) await boundLog(log).catch(() => undefined)
  }

  async #look(): Promise<void> {
    const hasTimeForLogs = ++this.#looks % BOUND_EVERY === 0
    for (const [key, metadata] of this.#machines) {
      const [monitor] = metadata.run?.processes ?? []
      if (monitor !== undefined && (await isRunning(monitor))) {
        if (hasTimeForLogs) await this.#cutLogs(metadata.name)
        continue
      }
      // Meanwhile it can have been started anew, or be about to be.
      if (this.#machines.get(key) !== metadata) continue
      this.#machines.delete(key)
      await this.#onEnd(metadata.name)
    }
  }
}
