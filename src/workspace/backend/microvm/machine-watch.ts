import { nameKey } from '../../name.ts'
import { boundLog, findLastWords } from './monitor/console-log.ts'
import type { Driver } from './driver.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { isRunning } from './monitor/machine-process.ts'
import type { Metadata } from './files/metadata.ts'

const LOOK_EVERY_MS = 500
/** At every so many looks the consoles' logs are looked at too. */
const BOUND_EVERY = 20

/** At every so many looks, whether each metadata.json can still be read, and what consoles said last. */
const READ_EVERY = 4

/**
 * Notices machines that end by themselves, and metadata that becomes unreadable or readable again. By looking: machines that an
 * earlier server started are nobody's children, and report to nobody.
 */
export class MachineWatch {
  readonly #files: MachineFiles
  readonly #driver: Driver
  readonly #onEnd: (name: string) => Promise<void>
  readonly #onReadable: (key: string) => void
  /** Machines whose metadata.json could not be read when last looked at. */
  #unreadable: ReadonlySet<string> = new Set()
  /** Machines that are to run, by name. */
  readonly #machines = new Map<string, Metadata>()
  #timer: NodeJS.Timeout | undefined
  #looks = 0
  #isLooking = false

  constructor(
    files: MachineFiles,
    driver: Driver,
    on: { readonly onEnd: (name: string) => Promise<void>; readonly onReadable: (key: string) => void },
  ) {
    this.#files = files
    this.#driver = driver
    this.#onEnd = on.onEnd
    this.#onReadable = on.onReadable
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

  /** Whether a machine is off whose monitor goes on: one with no power to switch off only ends at a reboot. */
  async #isOff({ name, run }: Metadata): Promise<boolean> {
    if (this.#driver.endsBy !== 'reboot') return false
    const console = this.#files.guestConsoleOf(name, this.#driver.console)
    return (await findLastWords(console, run?.consoleStart ?? 0)) === 'off'
  }

  async #lookForUnreadable(): Promise<void> {
    const unreadable = new Set(
      (await this.#files.list()).filter(({ reading }) => reading.is === 'unreadable').map(({ key }) => key),
    )
    const before = this.#unreadable
    this.#unreadable = unreadable
    for (const key of [...unreadable, ...before])
      if (unreadable.has(key) !== before.has(key)) this.#onReadable(key)
  }

  async #look(): Promise<void> {
    const looksClosely = this.#looks % READ_EVERY === 0
    if (looksClosely) await this.#lookForUnreadable().catch(() => undefined)
    const hasTimeForLogs = ++this.#looks % BOUND_EVERY === 0
    for (const [key, metadata] of this.#machines) {
      const [monitor] = metadata.run?.processes ?? []
      const isOff = looksClosely && (await this.#isOff(metadata))
      if (!isOff && monitor !== undefined && (await isRunning(monitor))) {
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
