import type { AlarmClock } from '../../src/lib/clock/clock.ts'

/** A clock that the test advances; timers fire in order. */
export class FakeClock implements AlarmClock {
  #nowMs = 0
  #timers = new Set<{ readonly atMs: number; readonly work: () => void }>()
  wallMs = (): number => this.#nowMs
  nowMs = (): number => this.#nowMs
  after = (delayMs: number, work: () => void): (() => void) => {
    const timer = { atMs: this.#nowMs + Math.max(1, delayMs), work }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get timers(): number {
    return this.#timers.size
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    while (true) {
      const [next] = [...this.#timers].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)
      if (next === undefined) break
      this.#timers.delete(next)
      this.#nowMs = next.atMs
      next.work()
      await Promise.resolve()
    }
    this.#nowMs = endMs
    // Let promises that depend on the timer settle.
    for (let i = 0; i < 20; i++) await Promise.resolve()
  }
}
