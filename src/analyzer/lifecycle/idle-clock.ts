/** Timer that stops a server after a time without requests. */
export class IdleClock {
  readonly #timeoutMs: number
  readonly #onIdle: () => void
  #lastActivity = new Date()
  #timer: NodeJS.Timeout | undefined

  /** @param timeoutMs 0 disables the timer */
  constructor(timeoutMs: number, onIdle: () => void) {
    this.#timeoutMs = timeoutMs
    this.#onIdle = onIdle
    this.touch()
  }

  get lastActivity(): Date {
    return this.#lastActivity
  }

  /** Restarts the timer. */
  touch(): void {
    this.#lastActivity = new Date()
    if (this.#timeoutMs === 0) return
    if (this.#timer === undefined) this.#timer = setTimeout(this.#onIdle, this.#timeoutMs).unref()
    else this.#timer.refresh()
  }

  close(): void {
    clearTimeout(this.#timer)
  }
}

/** Formats a duration: "5m 30s". */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const shown = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount}${unit}`)
  return shown.length === 0 ? '0s' : shown.join(' ')
}
