import { Socket } from 'node:net'
import { getAddon, loadAddon } from '../load.ts'

/** Whether this process can dial into network namespaces at all; whether it may is for the kernel to say. */
export function canDialNamespaces(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Connects to a port on the loopback address of a container's network namespace, 127.0.0.1 first, then ::1. No thread waits for the
 * connection. There is no JavaScript fallback: callers ask `canDialNamespaces` first. Source: setns(2).
 *
 * @param pid of a process in the container
 * @param containerId which the process's control groups must name
 * @throws Error with code, errno and syscall: ECONNREFUSED when nothing listens, ETIMEDOUT when nothing accepts, ENOENT when the process
 *   has ended, ESRCH when it is not the container's, EPERM without CAP_SYS_ADMIN
 */
export async function dialNamespace(
  pid: number,
  containerId: string,
  port: number,
  timeoutMs: number,
): Promise<Socket> {
  const fd = await getAddon('dialing a network namespace').dialLoopback(pid, containerId, port, timeoutMs)
  return new Socket({ fd, readable: true, writable: true, allowHalfOpen: true })
}
