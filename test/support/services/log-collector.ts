import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A collector of OTLP logs. */
export interface LogCollector {
  readonly url: string
  /** Bodies of accepted records, in order. */
  readonly lines: string[]
  /** Bodies of accepted requests. */
  readonly requests: string[]
  /** Value of the header `authorization` of each request. */
  readonly tokens: (string | undefined)[]
  /** Decides about each request by the bodies of its records; 200 accepts them. */
  answer: (lines: readonly string[]) => number
}

/** Starts a collector of logs. */
export async function startLogCollector(): Promise<LogCollector> {
  const server = createServer((request, response) => {
    const receive = async (): Promise<void> => {
      const body = await text(request)
      const { resourceLogs } = JSON.parse(body)
      const lines: string[] = resourceLogs[0].scopeLogs[0].logRecords.map(
        (record: any) => record.body.stringValue,
      )
      collector.tokens.push(request.headers.authorization)
      response.statusCode = collector.answer(lines)
      if (response.statusCode === 200) {
        collector.requests.push(body)
        collector.lines.push(...lines)
      }
      response.end('{}')
    }
    receive().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const collector: LogCollector = {
    url: `http://127.0.0.1:${port}/v1/logs`,
    lines: [],
    requests: [],
    tokens: [],
    answer: () => 200,
  }
  return collector
}
