import type { IncomingMessage } from 'node:http'

const HOSTS = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i

/** Whether a program of this machine sent the request through the loopback address; a web page does not count (threats H1 and C4). */
export function isLocal({ headers }: IncomingMessage): boolean {
  return HOSTS.test(headers.host ?? '') && headers.origin === undefined
}
