import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireEgress, WireEgressRequest } from '../../../api/egress.ts'
import { DEFAULT_PORTS, hostAndPort } from '../../../egress/default-ports.ts'
import { addServerOption, contextOf } from '../context.ts'
import { exitOnSignal } from '../exit-on-signal.ts'

interface EgressOptions {
  readonly follow?: true
  readonly suggest?: true
}

/** Adds the command `egress`, which shows what a workspace requested through its egress proxy. */
export function addEgress(program: Command): void {
  addServerOption(program.command('egress'))
    .description('show what a workspace requested through its egress proxy, and what was refused')
    .argument('<name>', 'workspace')
    .option('-f, --follow', 'print new requests as they are made')
    .option('--suggest', 'print rules that would have allowed the refused requests, as YAML')
    .addHelpText('after', examples('workspace egress demo', 'workspace egress demo --suggest'))
    .action(async (name: string, { follow, suggest }: EgressOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      const path = `/api/workspaces/${encodeURIComponent(name)}/egress`
      if (follow === true) {
        exitOnSignal()
        return client.follow(path, (_event, content) => {
          const request = content as WireEgressRequest
          output.line(request, () => row(request).join('  '))
        })
      }
      const egress = await client.get<WireEgress>(path)
      if (suggest !== true) return output.result(egress, () => table(name, egress))
      const { stringify } = await import('yaml')
      output.result(egress.suggested_rules, () => suggestion(egress, stringify))
    })
}

function table(name: string, { profile, open, requests }: WireEgress): string {
  if (profile === null)
    return `${name} has no egress profile; create a workspace with one: workspace create NAME --egress-profile PROFILE`
  const state = open ? 'open' : 'closed'
  if (requests.length === 0) return `profile ${profile} (${state}): no requests since the server started`
  const heading = `profile ${profile} (${state})\n`
  return heading + formatTable(['TIME', 'OUTCOME', 'METHOD', 'URL', 'STATUS', 'SECRET'], requests.map(row))
}

function row(request: WireEgressRequest): readonly string[] {
  const { at, outcome, reason, method, status, secret = '' } = request
  const why = reason === undefined ? outcome : `${outcome}: ${reason}`
  return [at, why, method, urlOf(request), status === undefined ? '' : String(status), secret]
}

function urlOf(request: WireEgressRequest): string {
  if (request.host === '') return '(not a host name)'
  return `${request.scheme}://${hostAndPort(request)}${request.path}`
}

/** Renders rules as they are written in a profile. */
function suggestion({ suggested_rules: rules }: WireEgress, stringify: (value: unknown) => string): string {
  if (rules.length === 0) return '# no request was refused'
  const written = rules.map(({ scheme, host, port, methods, paths }) => ({
    host,
    ...(scheme === 'http' && { scheme }),
    ...(port !== DEFAULT_PORTS[scheme] && { port }),
    ...(methods.length > 0 && { methods }),
    ...(paths.length > 0 && { paths }),
  }))
  return stringify({ rules: written }).trimEnd()
}
