import type { Socket } from 'node:net'
import { limitBackoff, silenceOf } from '../../native/net/tcp.ts'
import { type AlarmClock, systemClock } from '../clock/clock.ts'
import { resetSocket } from '../process/reset-socket.ts'

const CHECK_MS = 5_000
/** Silence of a peer after which a check counts it as missing; the second such check in a row ends its connection. */
const SILENCE_MS = 20_000
/** Time between the kernel's attempts to reach a peer, so that one that returns in time is heard. */
const BACKOFF_MS = 10_000

interface Watched {
  readonly silenceMs: number
  isProbed: boolean
  wasSilent: boolean
}

/** Resets connections whose peers have vanished, so that what depends on them is released. */
export class LossWatch {
  readonly #watched = new Map<Socket, Watched>()
  readonly #clock: AlarmClock
  readonly #silenceOf: (socket: Socket) => number | undefined
  #cancel: (() => void) | undefined

  constructor(clock: AlarmClock, measure: (socket: Socket) => number | undefined) {
    this.#clock = clock
    this.#silenceOf = measure
  }

  /** Watches a connection until it closes. */
  watch(socket: Socket, silenceMs: number): void {
    if (socket.destroyed) return
    this.#watched.set(socket, { silenceMs, isProbed: false, wasSilent: false })
    socket.once('close', () => this.#forget(socket))
    this.#cancel ??= this.#clock.after(CHECK_MS, () => this.#check())
  }

  #forget(socket: Socket): void {
    this.#watched.delete(socket)
    if (this.#watched.size > 0) return
    this.#cancel?.()
    this.#cancel = undefined
  }

  #check(): void {
    this.#cancel = this.#clock.after(CHECK_MS, () => this.#check())
    for (const [socket, watched] of this.#watched) {
      if (!watched.isProbed) {
        // Most connections are closed before; the kernel's delay counts from the last packet all the same.
        watched.isProbed = true
        socket.setKeepAlive(true, watched.silenceMs - CHECK_MS)
        limitBackoff(socket, BACKOFF_MS)
      }
      const isSilent = (this.#silenceOf(socket) ?? 0) >= watched.silenceMs
      // Twice, because the time of a suspended machine passes before its kernel has asked the peer again.
      if (isSilent && watched.wasSilent) resetSocket(socket)
      watched.wasSilent = isSilent
    }
  }
}

const lossWatch = new LossWatch(systemClock, silenceOf)

/**
 * Resets an accepted connection when its peer has vanished: when it acknowledges neither data nor probes for `silenceMs`, 20 s by
 * default, and 5 to 10 s more. A peer that reads nothing, or has nothing to send, still acknowledges. Without the addon and on systems
 * other than Linux, only a connection without data in flight is watched, by the kernel; other sockets than TCP are not.
 */
export function noticeLoss(socket: Socket, silenceMs: number = SILENCE_MS): void {
  lossWatch.watch(socket, silenceMs)
}
