import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { tempDir } from '../temp-dir.ts'
import { FakeBackend } from '../workspace/backend/fake-backend.ts'
import { startWorkspaceServer } from '../workspace/server/test-server.ts'
import type { e2bForNode } from './clients.ts'

const TOKEN = 'the-token-of-this-test'
const DOMAIN = 'sandboxes.test'
const RESOLVE = `
  import dns from 'node:dns'
  // The test's domain is not registered.
  const { lookup } = dns
  dns.lookup = (name, ...rest) => lookup(name.endsWith('.${DOMAIN}') ? '127.0.0.1' : name, ...rest)`

/**
 * Runs a program with E2B's packages, which know a server with TLS by its domain and key only; it must import them
 * dynamically. Returns the JSON that it prints.
 */
export async function playOverTls(node: ReturnType<typeof e2bForNode>, program: string): Promise<unknown> {
  const folder = tempDir()
  const [key, cert, tokenFile] = ['key.pem', 'cert.pem', 'token'].map((file) => join(folder, file)) as [
    string,
    string,
    string,
  ]
  writeFileSync(tokenFile, TOKEN)
  const names = `subjectAltName=DNS:*.${DOMAIN}`
  const certificate = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-addext', names]
  await run('openssl', ['req', '-x509', ...certificate, '-subj', '/CN=test', '-keyout', key, '-out', cert])
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: {
      e2b: { enabled: true },
      http: { token_file: tokenFile, ports_domain: DOMAIN, tls: { cert, key } },
    },
  })
  onTestFinished(server.stop)
  const { status, signal, stdout, stderr } = await node.run(RESOLVE + program, [], {
    PATH: process.env['PATH'],
    NODE_EXTRA_CA_CERTS: cert,
    E2B_DOMAIN: `${DOMAIN}:${server.httpPort}`,
    E2B_API_KEY: TOKEN,
  })
  expect({ status, signal }, stderr).toEqual({ status: 0, signal: null })
  return JSON.parse(stdout)
}
