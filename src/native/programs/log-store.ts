import { type AddonLogStore, getAddon } from '../load.ts'

/** Opens the addon's log store (`native/log/`), which needs Linux. */
export function createAddonLogStore(onChange: () => void): AddonLogStore {
  const { LogStore } = getAddon('the log store')
  return new LogStore(onChange)
}
