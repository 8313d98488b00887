import type { WorkspaceConfig } from '../../config.ts'
import type { WorkspaceServer } from '../../server.ts'

/** Where everything is and what to try first, for a person who has just started the server. */
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
  Backends   ${backends.length > 0 ? backends.join(', ') : 'none yet: "npx workspace doctor" says what is missing'}

Try, in another terminal in this folder:

  ${url}npx workspace create demo --repo octocat/Hello-World
  ${url}npx workspace ssh demo
  ${url}npx workspace rm demo

Ctrl-C stops the server; workspaces go on running.

`
}

function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '[::1]' : host
}
