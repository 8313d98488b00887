import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireRequest } from '../../../api/request.ts'
import { contextOf } from '../client.ts'
import { untilStopSignal } from '../signals.ts'

interface RequestsOptions {
  readonly follow?: boolean
  readonly limit: number
  readonly subdomain?: string
  readonly method?: string
  readonly minStatus?: number
  readonly maxStatus?: number
  readonly replay?: string
}

/** Adds `requests`, which shows requests that went through the proxy. */
export function addRequests(program: Command): void {
  program
    .command('requests')
    .description('show requests that went through the proxy')
    .option('-f, --follow', 'follow new requests')
    .option('-n, --limit <count>', 'maximum number of requests', wholeNumber, 100)
    .option('--subdomain <name>', 'only requests to this subdomain')
    .option('--method <method>', 'only requests with this method')
    .option('--min-status <status>', 'only responses with at least this status', wholeNumber)
    .option('--max-status <status>', 'only responses with at most this status', wholeNumber)
    .option('--replay <id>', 'send this request again')
    .addHelpText('after', examples('supervisor requests --min-status 400', 'supervisor requests --replay 2'))
    .action(async (options: RequestsOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      if (options.replay !== undefined) {
        const path = `/proxy/requests/${encodeURIComponent(options.replay)}/replay`
        const answer = await client.post<{ status_code: number }>(path)
        return output.result(answer, () => `response status ${answer.status_code}`)
      }
      const filters = {
        subdomain: options.subdomain,
        method: options.method,
        min_status: options.minStatus,
        max_status: options.maxStatus,
      }
      const query = new URLSearchParams(
        Object.entries(filters).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, String(value)] as [string, string]],
        ),
      )
      if (options.follow !== true) {
        const all = new URLSearchParams([...query, ['limit', String(options.limit)]])
        const answer = await client.get<{ requests: readonly WireRequest[] }>(
          `/proxy/requests?${all.toString()}`,
        )
        return output.result(answer, () => requestTable(answer.requests))
      }
      const controller = new AbortController()
      void untilStopSignal().then(() => controller.abort())
      process.stdout.on('error', () => controller.abort())
      const show = ({ event, data }: { readonly event: string; readonly data: unknown }): void => {
        const request = data as WireRequest
        if (event === 'message') output.line(request, () => rowOf(request).join('  '))
      }
      await client.follow(`/proxy/requests/stream?${query.toString()}`, show, { signal: controller.signal })
    })
}

function requestTable(requests: readonly WireRequest[]): string {
  return formatTable(['TIME', 'ID', 'STATUS', 'MS', 'METHOD', 'SUBDOMAIN', 'URL'], requests.map(rowOf))
}

function rowOf(request: WireRequest): readonly string[] {
  const { timestamp, id, status_code: status, duration_ms, held_ms, method, subdomain, url } = request
  const ms = held_ms === 0 ? String(duration_ms) : `${duration_ms} (${held_ms} held)`
  return [timestamp.slice(11, 23), id, String(status), ms, method, subdomain || '-', url]
}
