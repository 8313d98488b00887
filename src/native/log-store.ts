import { type AddonLogStore, loadAddon } from './load.ts'

/** The addon's log store (`native/log/`). There is no twin here: a program that has one of its own asks `canStartPrograms`. */
export function createAddonLogStore(onNews: () => void): AddonLogStore {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') throw new Error(`the log store needs the addon: ${loaded.reason}`)
  return new loaded.addon.LogStore(onNews)
}
