import { FakeClock } from '../fake-clock.ts'

/** A clock whose system time a test also sets. */
export class ServerClock extends FakeClock {
  #wallMs: number

  constructor(wall: string) {
    super()
    this.#wallMs = Date.parse(wall)
  }

  override wallMs = (): number => this.#wallMs + this.nowMs()

  /** Sets the system clock forward, or back. */
  set(ms: number): void {
    this.#wallMs += ms
  }
}
