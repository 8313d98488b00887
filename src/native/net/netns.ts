import { createServer, type Server, Socket } from 'node:net'
import { getAddon, loadAddon } from '../load.ts'

/** Whether this process can connect and listen in network namespaces; the kernel decides on permissions. */
export function canDialNamespaces(): boolean {
  return loadAddon().is === 'loaded' && process.platform === 'linux'
}

/**
 * Connects to a port on the loopback address of a container's network namespace, 127.0.0.1 first, then ::1.
 * Blocks no thread. There is no JavaScript fallback: callers check `canDialNamespaces` first. Source:
 * setns(2).
 *
 * @param pid of a process in the container
 * @param containerId must be in the process's control groups
 * @throws Error with code, errno and syscall: ECONNREFUSED when nothing listens, ETIMEDOUT when nothing
 * accepts, ENOENT when the process exited, ESRCH when it is not in the container, EPERM without CAP_SYS_ADMIN
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

/**
 * Listens on 127.0.0.1 of a container's network namespace. Connections stay half-open when one side ends them. Source:
 * setns(2).
 *
 * @param pid of a process in the container
 * @param containerId must be in the process's control groups
 * @throws Error with code, errno and syscall: EADDRINUSE when a program inside uses the port, else as `dialNamespace`
 */
export async function listenInNamespace(
  pid: number,
  containerId: string,
  port: number,
  onConnection: (connection: Socket) => void,
): Promise<Server> {
  const fd = getAddon('listening in a network namespace').bindLoopback(pid, containerId, port)
  const server = createServer({ allowHalfOpen: true, noDelay: true }, onConnection)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen({ fd }, resolve))
  return server
}
