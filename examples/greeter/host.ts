// The host's part of an extension: answers programs in virtual machines with the name of their workspace.
import { serveNamespace } from 'workspace-suite/extension-host'

await serveNamespace(
  'greeter',
  ({ payload, workspace }) => ({
    greeting: `Hello ${String(payload['name'])}, from the host of ${workspace.name}`,
  }),
  { server: { url: process.env['WORKSPACE_URL'] ?? 'http://127.0.0.1:8080' }, onProblem: console.error },
)
