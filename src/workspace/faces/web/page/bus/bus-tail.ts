import type { WireBusEvent } from '../../../../api/bus.ts'
import { follow } from '../server/follow.ts'
import { Store } from '../state/store.ts'

const MAX_MESSAGES = 200
/** Number of seconds in the message rate graph. */
export const RATE_SECONDS = 60
/** Interval between updates: a busy bus carries thousands of messages a second. */
const SHOW_MS = 250

/** Recent messages and message rates. */
export interface BusTail {
  /** Newest first. */
  readonly messages: readonly WireBusEvent[]
  /** Number of messages in each of the last seconds, newest last. */
  readonly rates: readonly number[]
}

/** Watches the bus without affecting its listeners. */
export function followBus(): { readonly tail: Store<BusTail>; readonly unsubscribe: () => void } {
  const tail = new Store<BusTail>({ messages: [], rates: [] })
  let fresh: WireBusEvent[] = []
  let countThisSecond = 0
  const show = setInterval(() => {
    if (fresh.length === 0) return
    tail.set({
      ...tail.value,
      messages: [...fresh.toReversed(), ...tail.value.messages].slice(0, MAX_MESSAGES),
    })
    fresh = []
  }, SHOW_MS)
  const count = setInterval(() => {
    tail.set({ ...tail.value, rates: [...tail.value.rates.slice(1 - RATE_SECONDS), countThisSecond] })
    countThisSecond = 0
  }, 1_000)
  const unfollow = follow('/api/plugins/messages?payloads=true', {
    realm: 'bus',
    onEvent({ data }) {
      countThisSecond++
      fresh.push(data as WireBusEvent)
      if (fresh.length > MAX_MESSAGES) fresh = fresh.slice(-MAX_MESSAGES)
    },
  })
  return {
    tail,
    unsubscribe() {
      unfollow()
      clearInterval(show)
      clearInterval(count)
    },
  }
}
