import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startSupervisor } from '../../../support/supervisor/supervisor.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** Refuses all lines, as a collector without access does. */
async function refusing(): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume()
    response.writeHead(403).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the metrics count what was dropped, by destination, hook and process', async () => {
  const dir = tempDir()
  const { url, ask } = await startSupervisor(
    {
      // Its log file is a directory.
      web: { cmd: 'seq 1 30; exec sleep 1000', log: { file: dir } },
      // Each run is two events of a hook that ends with the first.
      busy: { cmd: 'true', restart: 'always', restart_delay: '1ms', log: { file: join(dir, 'busy.log') } },
    },
    {
      log: { level: 'silent', ship: { 'refused "here"': { otlp: await refusing() } } },
      hooks: {
        slow: { on: ['started', 'restarted', 'exited'], command: 'sleep 1000', timeout: '1h' },
        idle: { on: ['failed'], command: 'true' },
      },
    },
    dir,
  )
  const metric = async (name: string): Promise<string> => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return text
      .split('\n')
      .filter((line) => line.startsWith(`supervisor_${name}`))
      .join('\n')
  }
  await waitFor('the lines', async () => (await ask('/logs?process=web')).body.filtered_count === 30)
  await waitFor(
    'unsent lines',
    async () =>
      (await metric('ship_lines_dropped_total')) ===
      'supervisor_ship_lines_dropped_total{destination="refused \\"here\\""} 30',
  )
  await waitFor('lines without a file', async () =>
    (await metric('log_file_bytes_dropped_total{process="web"}')).endsWith(' 81'),
  )
  expect(await metric('log_file_bytes_dropped_total{process="busy"}')).toMatch(/ 0$/)
  await waitFor('dropped events', async () =>
    /\{hook="slow"\} [1-9]/.test(await metric('hook_events_dropped_total')),
  )
  expect(await metric('hook_events_dropped_total{hook="idle"}')).toMatch(/ 0$/)
  expect(await metric('stream_lines_dropped_total')).toBe('supervisor_stream_lines_dropped_total 0')
})
