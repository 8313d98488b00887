import { Socket } from 'node:net'
import { loadAddon } from './load.ts'

/** Whether this process can dial into network namespaces at all; whether it may is for the kernel to say. */
export function canDialNamespaces(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Connects to a port on the loopback address of another process's network namespace, 127.0.0.1 first, then ::1. Source:
 * setns(2), in a thread of its own. There is no JavaScript fallback: callers ask `canDialNamespaces` first.
 *
 * @throws Error with code, errno and syscall: ECONNREFUSED when nothing listens, ENOENT when the process is gone, EPERM
 *   without CAP_SYS_ADMIN
 */
export async function dialNamespace(pid: number, port: number, timeoutMs: number): Promise<Socket> {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') throw new Error(`network namespaces need the addon: ${loaded.reason}`)
  const fd = await loaded.addon.dialLoopback(`/proc/${pid}/ns/net`, port, timeoutMs)
  return new Socket({ fd, readable: true, writable: true, allowHalfOpen: true })
}
