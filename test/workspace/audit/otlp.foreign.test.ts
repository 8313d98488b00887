import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { openDestination } from '../../../src/supervisor/shipping/open-destination.ts'
import { foreignProgram, versionOf } from '../../support/foreign/clients.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { type LogCollector, startLogCollector } from '../../support/services/log-collector.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

const READER = join(packageRoot, 'test/fixtures/foreign/otlp/read-logs.py')
const python = foreignProgram('python')
const version = versionOf([
  python,
  '-c',
  'from importlib.metadata import version; print(version("opentelemetry-proto"))',
])

/** Returns the records of a collector's requests, as OpenTelemetry's package reads them. */
function recordsOf({ requests }: LogCollector): any[] {
  return requests.flatMap((input) => JSON.parse(execFileSync(python, [READER], { input, encoding: 'utf8' })))
}

describe(`opentelemetry-proto ${version}`, () => {
  test('reads audit entries', async () => {
    const collector = await startLogCollector()
    const file = join(tempDir(), 'audit')
    const settings = { audit: { file, otlp: { url: collector.url } } }
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], settings })
    onTestFinished(() => server.stop())
    await server.create({ name: 'demo' })
    await server.api('workspaces/demo/files?path=/nowhere')
    await server.api('workspaces/demo', 'DELETE')
    await waitFor('the entries', () => collector.lines.at(-1)?.includes('workspace.delete') === true)
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    expect(recordsOf(collector)).toEqual(
      lines.map((line) => {
        const { time, ...fields } = JSON.parse(line) as Record<string, string>
        return {
          resource: { 'service.name': 'workspace', 'host.name': expect.stringMatching(/./) },
          scope: 'workspace.audit',
          time: 1_000_000 * Date.parse(time ?? ''),
          severity: fields['outcome'] === 'ok' ? 9 : 13,
          event: fields['action'],
          body: line,
          attributes: Object.fromEntries(
            Object.entries(fields).map(([key, value]) => [`workspace.audit.${key}`, value]),
          ),
        }
      }),
    )
  })

  test('reads lines of processes', async () => {
    const collector = await startLogCollector()
    const { send } = openDestination({ kind: 'otlp', url: collector.url, headers: {} })
    const line = { sequence: 1, timeMs: 1_769_860_800_123, process: 'web', isCut: false }
    const lines = [
      { ...line, stream: 'stdout', text: 'ready ✓' },
      { ...line, stream: 'stderr', text: '\u0000"\\' },
    ] as const
    expect(await send(lines, new AbortController().signal)).toBe(0)
    expect(recordsOf(collector)).toMatchObject(
      lines.map(({ stream, text }) => ({
        resource: { 'service.name': 'web' },
        scope: 'supervisor',
        time: 1_769_860_800_123_000_000,
        body: text,
        attributes: { 'log.iostream': stream },
      })),
    )
  })
})
