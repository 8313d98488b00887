/** Token bucket that bounds the work a peer causes: a sustained rate per millisecond, and a burst after a pause. */
export class Pace {
  readonly #perMs: number
  readonly #burst: number
  readonly #nowMs: () => number
  #left: number
  #filledMs: number

  constructor(rate: { readonly perMs: number; readonly burst: number }, nowMs = () => performance.now()) {
    this.#perMs = rate.perMs
    this.#burst = rate.burst
    this.#nowMs = nowMs
    this.#left = rate.burst
    this.#filledMs = nowMs()
  }

  /** Records completed work. Returns the milliseconds to wait before more; 0 for none. */
  spend(units: number): number {
    this.#left -= units
    if (this.#left > 0) return 0
    const nowMs = this.#nowMs()
    this.#left = Math.min(this.#burst, this.#left + (nowMs - this.#filledMs) * this.#perMs)
    this.#filledMs = nowMs
    // Waits for a quarter of the burst: timers have millisecond resolution, and a wait costs more than a few units.
    return this.#left > 0 ? 0 : Math.ceil((this.#burst / 4 - this.#left) / this.#perMs)
  }
}
