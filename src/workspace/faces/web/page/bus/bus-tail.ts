import type { WireNews } from '../../../../api/bus.ts'
import { follow } from '../server/follow.ts'
import { Store } from '../state/store.ts'

const KEPT = 200
export const RATE_SECONDS = 60
/** How often what came is shown: a busy bus carries thousands of messages a second. */
const SHOW_MS = 250

export interface BusTail {
  /** The newest is first. */
  readonly messages: readonly WireNews[]
  /** Messages of each of the last seconds, the newest last. */
  readonly rates: readonly number[]
}

/** Watches the bus, and takes nothing from its listeners. */
export function followBus(): { readonly tail: Store<BusTail>; readonly leave: () => void } {
  const tail = new Store<BusTail>({ messages: [], rates: [] })
  let fresh: WireNews[] = []
  let ofThisSecond = 0
  const show = setInterval(() => {
    if (fresh.length === 0) return
    tail.set({ ...tail.value, messages: [...fresh.toReversed(), ...tail.value.messages].slice(0, KEPT) })
    fresh = []
  }, SHOW_MS)
  const count = setInterval(() => {
    tail.set({ ...tail.value, rates: [...tail.value.rates.slice(1 - RATE_SECONDS), ofThisSecond] })
    ofThisSecond = 0
  }, 1_000)
  const leave = follow('/api/plugins/messages?payloads=true', {
    realm: 'bus',
    onEvent({ data }) {
      ofThisSecond++
      fresh.push(data as WireNews)
      if (fresh.length > KEPT) fresh = fresh.slice(-KEPT)
    },
  })
  return {
    tail,
    leave() {
      leave()
      clearInterval(show)
      clearInterval(count)
    },
  }
}
