import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Backend, ExecRequest } from '../../src/workspace/backend/backend.ts'
import { InsideDirs } from '../../src/workspace/backend/docker/inside-dirs.ts'
import type { Workspace } from '../../src/workspace/workspace.ts'
import { dockerBackend, TEST_IMAGE } from './docker.ts'
import { FakeBackend } from './fake-backend.ts'

/** What has to pass the suite over all backends, and where they differ by their nature. */
export const BACKENDS = [
  { kind: 'docker', make: directBackend, isDocker: true, isDirect: true },
  { kind: 'docker without a mount', make: () => dockerBackend(), isDocker: true, isDirect: false },
  { kind: 'fake', make: () => new FakeBackend(), isDocker: false, isDirect: true },
]

/** A backend whose workspaces have a directory of the server's mounted, which goes with it. */
async function directBackend(): Promise<Backend> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'inside-')))
  const backend = dockerBackend({ insideDirs: await InsideDirs.keep(root) })
  const close = backend.close.bind(backend)
  backend.close = async () => {
    await close()
    rmSync(root, { recursive: true })
  }
  return backend
}

export function createIn(backend: Backend, name: string, localDir = ''): Promise<Workspace> {
  return backend.create(
    {
      name,
      createdAt: new Date(),
      image: TEST_IMAGE,
      repo: 'https://example.com/r',
      localDir,
      forwardPorts: [3000, 8080],
      adoptsFiles: false,
      environment: { FROM_CREATION: 'a = b' },
      cpus: 1,
      memoryMb: 256,
      upperBytes: 0,
    },
    () => undefined,
    new AbortController().signal,
  )
}

/** Runs a program to its end. */
export async function outputOf(backend: Backend, name: string, request: ExecRequest) {
  const process = await backend.exec(name, request)
  const [stdout, stderr, { status }] = await Promise.all([
    text(process.stdout),
    text(process.stderr),
    process.exitStatus,
  ])
  return { stdout, stderr, status }
}

export function sh(script: string, user?: string): ExecRequest {
  return { argv: ['/bin/sh', '-c', script], stdin: false, ...(user !== undefined && { user }) }
}
