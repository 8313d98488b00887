import { loadAddon } from './load.ts'

/** Whether this process can make FIFOs: Node itself has no function for it. */
export function canMakeFifos(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Makes a FIFO with exactly these permissions. Source: mkfifo(3). There is no JavaScript fallback: callers ask
 * `canMakeFifos` first.
 *
 * @throws Error with code, errno, syscall and path, as from node:fs
 */
export function makeFifo(path: string, mode: number): void {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') throw new Error(`FIFOs need the addon: ${loaded.reason}`)
  loaded.addon.makeFifo(path, mode)
}

/**
 * Asks for room for so many bytes in a pipe. False where it stays as it was: a user who is not root may have only so much
 * in all pipes together. Source: F_SETPIPE_SZ, fcntl(2).
 */
export function setPipeCapacity(fd: number, bytes: number): boolean {
  const loaded = loadAddon()
  return loaded.is === 'loaded' && loaded.addon.setPipeCapacity(fd, bytes)
}
