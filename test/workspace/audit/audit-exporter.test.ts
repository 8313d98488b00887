import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { fc } from '../../support/fast-check.ts'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { sealJson } from '../../../src/lib/fs/sealed-json.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { AuditExporter } from '../../../src/workspace/audit/audit-exporter.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startLogCollector } from '../../support/services/log-collector.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/** A hundred times as fast. */
const clock = { ...systemClock, after: (ms: number, work: () => void) => systemClock.after(ms / 100, work) }

const entry = (number: number): string =>
  JSON.stringify({ time: '2026-01-31T12:00:00.000Z', action: 'exec.run', outcome: 'ok', number })

/** An audit file and its exporter. */
async function exported() {
  const collector = await startLogCollector()
  const directory = tempDir()
  const file = join(directory, 'audit')
  appendFileSync(file, '')
  const stateFile = join(directory, 'sent')
  const logged: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => logged.push(line))
  const logger = createLogger({ level: 'info', format: 'json', destination })
  const open = () =>
    AuditExporter.open({ url: collector.url, tokenFile: undefined, file, stateFile, clock, logger })
  let exporter = await open()
  onTestFinished(() => exporter.close())
  let count = 0
  const written = (): readonly string[] => Array.from({ length: count }, (_, number) => entry(number))
  return {
    collector,
    file,
    stateFile,
    logged: () => logged.join(''),
    /** Appends entries. */
    write(more: number): void {
      for (let i = 0; i < more; i++) appendFileSync(file, `${entry(count++)}\n`)
    },
    wake: () => exporter.wake(),
    stop: () => exporter.close(),
    async start(): Promise<void> {
      exporter = await open()
      exporter.wake()
    },
    written,
    /** Waits until the collector has everything that was written. */
    async complete(limitMs = 45_000): Promise<void> {
      await waitFor(
        'all entries',
        () => {
          const found = new Set(collector.lines)
          return written().every((line) => found.has(line))
        },
        limitMs,
      )
      // What was sent is noted after the answer.
      await waitFor('the position', () => {
        const text = existsSync(stateFile) ? readFileSync(stateFile, 'utf8') : ''
        return text.includes(`\\"number\\":${count - 1}}`)
      })
    },
  }
}

test('a server sends its audit entries to a collector, and the next one continues', async () => {
  const collector = await startLogCollector()
  const directory = tempDir()
  const tokenFile = join(directory, 'collector-token')
  writeFileSync(tokenFile, 'first\n')
  const file = join(directory, 'audit')
  const settings = { audit: { file, otlp: { url: collector.url, token_file: tokenFile } } }
  const stateDir = join(directory, 'state')
  const serve = () => startWorkspaceServer({ backends: () => [new FakeBackend()], settings, stateDir })
  const server = await serve()
  await server.create({ name: 'demo' })
  await server.create({ name: 'a b' })
  await waitFor('the entries', () => collector.lines.length === 2)
  expect(collector.tokens[0]).toBe('Bearer first')
  const [{ resourceLogs }] = collector.requests.map((body) => JSON.parse(body))
  expect(resourceLogs[0].resource.attributes).toContainEqual({
    key: 'service.name',
    value: { stringValue: 'workspace' },
  })
  expect(resourceLogs[0].scopeLogs[0].logRecords[0]).toMatchObject({
    timeUnixNano: expect.stringMatching(/^\d{19}$/),
    severityNumber: 9,
    eventName: 'workspace.create',
    attributes: expect.arrayContaining([
      { key: 'workspace.audit.workspace', value: { stringValue: 'demo' } },
      { key: 'workspace.audit.outcome', value: { stringValue: 'ok' } },
    ]),
  })
  expect(collector.requests.join()).toContain('"severityNumber":13')
  // The last entries of a server are sent before it ends.
  void server.api('workspaces/demo', 'DELETE')
  await waitFor('the deletion', () => readFileSync(file, 'utf8').includes('workspace.delete'))
  await server.stop()
  writeFileSync(tokenFile, 'second\n')
  const next = await serve()
  onTestFinished(() => next.stop())
  await next.create({ name: 'later' })
  await waitFor('the entry', () => collector.lines.at(-1)?.includes('later') === true)
  expect(collector.lines.map((line) => `${line}\n`).join('')).toBe(readFileSync(file, 'utf8'))
  expect(collector.tokens.at(-1)).toBe('Bearer second')
})

test.each([{ otlp: { url: 'http://a/' } }, { file: '/tmp/x', otlp: { url: 'ftp://a/' } }])(
  'the configuration %j is refused',
  async (audit) => {
    const start = startWorkspaceServer({ backends: () => [new FakeBackend()], settings: { audit } })
    await expect(start).rejects.toThrow('audit.otlp')
  },
)

test('entries wait for a collector that fails, which is logged once', async () => {
  const world = await exported()
  const { collector } = world
  let [requests, status] = [0, 503]
  collector.answer = () => {
    requests++
    return status
  }
  world.write(3)
  world.wake()
  await waitFor('attempts', () => requests > 1)
  // A wrong token is a matter of the configuration, and no reason to lose entries.
  status = 401
  const before = requests
  await waitFor('more attempts', () => requests > before + 1)
  world.write(2)
  status = 200
  await world.complete()
  expect(collector.lines).toEqual(world.written())
  await waitFor('the log', () => world.logged().includes('are sent to the collector again'))
  expect(world.logged().match(/cannot be sent/g)).toHaveLength(1)
})

test('an entry that the collector does not accept is logged, and the others are sent', async () => {
  const world = await exported()
  world.collector.answer = (lines) => (lines.includes(entry(437)) ? 400 : 200)
  world.write(1_200)
  world.wake()
  await waitFor('the others', () => world.collector.lines.length === 1_199)
  expect(world.collector.lines).toEqual(world.written().filter((line) => line !== entry(437)))
  expect(world.logged()).toContain('the collector refused an audit entry')
  expect(world.logged()).toContain('437')
})

test('the rest of an interrupted write is not sent', async () => {
  const world = await exported()
  appendFileSync(world.file, '{"time":"2026-01-3\n')
  world.write(1)
  world.wake()
  await world.complete()
  expect(world.collector.lines).toEqual(world.written())
})

test('another file with the same inode is sent from its beginning', async () => {
  const world = await exported()
  world.write(4)
  world.wake()
  await world.complete()
  await world.stop()
  const first = world.written()
  truncateSync(world.file, 0)
  // It is longer than what was sent.
  const lines = Array.from({ length: 9 }, (_, number) => entry(1_000 + number))
  writeFileSync(world.file, lines.map((line) => `${line}\n`).join(''))
  await world.start()
  await waitFor('the others', () => world.collector.lines.length >= 13)
  expect(world.collector.lines).toEqual([...first, ...lines])
})

test('with a damaged position everything is sent again', async () => {
  const world = await exported()
  world.write(2)
  world.wake()
  await world.complete()
  await world.stop()
  writeFileSync(world.stateFile, sealJson({ offset: 5, tail: '' }).replace('5', '6'))
  await world.start()
  await waitFor('all again', () => world.collector.lines.length === 4)
  expect(world.logged()).toContain('is damaged')
})

/** Creates a file whose last change is later than that of another. */
async function changeAfter(other: string, file: string): Promise<void> {
  const changed = (path: string): bigint => statSync(path, { bigint: true }).mtimeNs
  do {
    await setImmediate()
    writeFileSync(file, '')
  } while (changed(file) <= changed(other))
}

type Step = 'write' | 'rename' | 'restart' | 'fail' | 'work'

test('every entry arrives, in order, through rotations, restarts and failures', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<Step>('write', 'write', 'write', 'rename', 'restart', 'fail', 'work'), {
        maxLength: 25,
      }),
      async (steps) => {
        const world = await exported()
        const { collector, file } = world
        let rotated = 0
        for (const step of [...steps, 'work', 'write'] as const) {
          if (step === 'write') world.write(3)
          else if (step === 'fail') collector.answer = () => 503
          else if (step === 'work') collector.answer = () => 200
          else if (step === 'restart') {
            await world.stop()
            await world.start()
          } else {
            const copy = `${file}.${rotated++}`
            renameSync(file, copy)
            await changeAfter(copy, file)
          }
          world.wake()
          await setImmediate()
        }
        await world.complete(10_000)
        // Only an entry whose confirmation was lost arrives twice.
        const first = [...new Set(collector.lines)]
        expect(first).toEqual(world.written())
        await world.stop()
      },
    ),
    { numRuns: 25 },
  )
}, 120_000)

test('a file that is copied and truncated is read to its end first', async () => {
  const world = await exported()
  world.write(2)
  world.wake()
  await world.complete()
  let refused = 0
  world.collector.answer = () => {
    refused++
    return 503
  }
  world.write(3)
  world.wake()
  await waitFor('an attempt', () => refused > 0)
  copyFileSync(world.file, `${world.file}-20260131`)
  truncateSync(world.file)
  world.write(7)
  world.collector.answer = () => 200
  await world.complete()
  expect(world.collector.lines).toEqual(world.written())
})
