import { nameKey } from '../../name.ts'
import { boundLog, findLastKernelMessage } from './monitor/console-log.ts'
import type { Driver } from './driver.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { isRunning } from './monitor/machine-process.ts'
import type { Metadata } from './files/metadata.ts'
import { attempt, type Report, workspaceSubject } from '../trouble.ts'

const CHECK_EVERY_MS = 500
/** Number of checks after which log sizes are checked, too. */
const BOUND_EVERY = 20

/** Number of checks after which metadata and the last console output are checked, too. */
const READ_EVERY = 4

/**
 * Detects VMs that exit and metadata that becomes unreadable or readable again. It polls, because VMs that an
 * earlier server started are not children of this process.
 */
export class MachineWatch {
  readonly #files: MachineFiles
  readonly #driver: Driver
  readonly #onExit: (name: string) => Promise<void>
  readonly #onReadable: (key: string) => void
  readonly #report: Report
  /** VMs whose metadata.json was unreadable at the last check. */
  #unreadable: ReadonlySet<string> = new Set()
  /** VMs that are supposed to run, by name. */
  readonly #machines = new Map<string, Metadata>()
  #timer: NodeJS.Timeout | undefined
  #checks = 0
  #isChecking = false

  constructor(
    files: MachineFiles,
    driver: Driver,
    on: {
      readonly onExit: (name: string) => Promise<void>
      readonly onReadable: (key: string) => void
      readonly report: Report
    },
  ) {
    this.#files = files
    this.#driver = driver
    this.#onExit = on.onExit
    this.#onReadable = on.onReadable
    this.#report = on.report
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.#isChecking) return
      this.#isChecking = true
      void this.#check().finally(() => (this.#isChecking = false))
    }, CHECK_EVERY_MS)
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

  async #boundLogs(name: string): Promise<void> {
    const logs = [this.#files.monitorLogOf(name)]
    // If a log is truncated under a writer that does not append, its next line lands at the old offset,
    // behind a hole.
    if (this.#driver.console === 'appended') logs.push(this.#files.consoleOf(name))
    const bound = async (): Promise<void> => {
      for (const log of logs) await boundLog(log)
    }
    await attempt(this.#report, 'limit the size of console logs', bound, workspaceSubject(name))
  }

  /**
   * Returns whether a VM is off although its monitor runs: some monitors cannot power off and exit only at a
   * reboot.
   */
  async #isOff({ name, run }: Metadata): Promise<boolean> {
    if (this.#driver.shutdownBy !== 'reboot') return false
    const console = this.#files.guestConsoleOf(name, this.#driver.console)
    return (await findLastKernelMessage(console, run?.consoleStart ?? 0)) === 'off'
  }

  async #checkReadable(): Promise<void> {
    const unreadable = new Set(
      (await this.#files.list()).filter(({ reading }) => reading.is === 'unreadable').map(({ key }) => key),
    )
    const before = this.#unreadable
    this.#unreadable = unreadable
    for (const key of [...unreadable, ...before])
      if (unreadable.has(key) !== before.has(key)) this.#onReadable(key)
  }

  async #check(): Promise<void> {
    const checksClosely = this.#checks % READ_EVERY === 0
    if (checksClosely)
      await attempt(this.#report, 'read the metadata of workspaces', () => this.#checkReadable())
    const hasTimeForLogs = ++this.#checks % BOUND_EVERY === 0
    for (const [key, metadata] of this.#machines) {
      const [monitor] = metadata.run?.processes ?? []
      const isOff = checksClosely && (await this.#isOff(metadata))
      if (!isOff && monitor !== undefined && (await isRunning(monitor))) {
        if (hasTimeForLogs) await this.#boundLogs(metadata.name)
        continue
      }
      // It may have been started again in the meantime, or be about to be.
      if (this.#machines.get(key) !== metadata) continue
      this.#machines.delete(key)
      await this.#onExit(metadata.name)
    }
  }
}
