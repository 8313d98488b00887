import type { Duplex } from 'node:stream'
import type { Fault } from '../../../../lib/errors/fault.ts'
import { renderNotice } from '../../../../lib/http/notice-page.ts'
import { expectsTls } from '../../../../lib/http/proxy/expects-tls.ts'
import type { UpstreamFailure } from '../../../../lib/http/proxy/forward.ts'
import { fault } from '../../../errors.ts'
import type { PortTarget } from '../../../tunnel/port-host.ts'

/** Returns the error for a request that a port did not answer. */
export async function portFailure(
  failure: UpstreamFailure,
  { workspace, port }: PortTarget,
  timeoutMs: number,
  connect: () => Promise<Duplex>,
): Promise<Fault> {
  const { is, message, cause } = failure
  const why = (await expectsTls(failure, connect))
    ? `port ${port} expects TLS, but ports are forwarded as plain HTTP: serve it without TLS, or use it on your machine with: workspace connect ${workspace} ${port} --local ${port}`
    : {
        silent: `the port did not respond within ${timeoutMs / 1_000} s`,
        broken: `the port did not respond: ${message}`,
        invalid: `the port sent an invalid response: ${message}`,
      }[is]
  return fault('CONNECT_FAILED', why, cause)
}

/** Renders an error as a page. */
export function portNotice({ code, message }: Fault): string {
  const title = code === 'CONNECT_FAILED' ? 'This port is not responding' : 'Cannot open this port'
  return renderNotice({ title, message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.` })
}
