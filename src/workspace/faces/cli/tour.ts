import type { WorkspaceConfig } from '../../config.ts'
import type { WorkspaceServer } from '../../server.ts'

/** Returns the addresses of a started server and the first steps to try. */
export function tour(config: WorkspaceConfig, server: WorkspaceServer): string {
  const scheme = config.http.tls === undefined ? 'http' : 'https'
  const api = config.http.socket ?? `${scheme}://${addressOf(config.http.host)}:${server.httpPort}`
  const page = config.http.socket === undefined ? `\n  Page       ${api}/` : ''
  const backends = server.availableBackends()
  const url = api === 'http://127.0.0.1:8080' ? '' : `WORKSPACE_URL=${api} `
  return `
Workspace server "${config.name}" is running.
${page}
  API        ${api}/api/info
  Reference  ${api}/reference
  SSH        ${addressOf(config.ssh.host)} port ${server.sshPort}, host key ${server.sshFingerprint}
  Backends   ${backends.length > 0 ? backends.join(', ') : 'none; run "npx workspace doctor" to see what is missing'}

In another terminal, in this folder, try:

  ${url}npx workspace create demo --repo octocat/Hello-World
  ${url}npx workspace ssh demo
  ${url}npx workspace rm demo

Press Ctrl-C to stop the server; workspaces keep running.

`
}

function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '[::1]' : host
}
