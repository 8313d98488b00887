import { afterAll, beforeAll } from 'vitest'
import { FakeBackend } from '../backend/fake-backend.ts'
import { userEnvironment, workspaceCli } from './workspace-cli.ts'
import { makeWorkspace, startWorkspaceServer, type TestServer } from '../server/test-server.ts'

/** A server for the commands of a test file, on a simulated backend. */
export interface CliServer {
  readonly backend: FakeBackend
  readonly server: () => TestServer
  /** Returns the environment of a new user of the server. */
  readonly environment: () => NodeJS.ProcessEnv
  /** Runs `workspace …` as a new user. */
  readonly cli: (...argv: readonly string[]) => ReturnType<typeof workspaceCli>
}

/** Starts a server with the given workspaces before the tests of a file, and stops it afterwards. */
export function cliServer(...workspaces: readonly string[]): CliServer {
  const backend = new FakeBackend()
  let server: TestServer
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend] })
    for (const name of workspaces) await makeWorkspace(server.url, { name })
  })
  afterAll(() => server.stop())
  const environment = () => userEnvironment({ WORKSPACE_URL: server.url })
  return { backend, server: () => server, environment, cli: (...argv) => workspaceCli(argv, environment()) }
}
