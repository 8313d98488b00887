import { formatRecord, formatTable } from '../../../lib/cli/table.ts'
import type { WireConnected } from '../../api/bus.ts'
import type { WireWorkspace } from '../../api/workspace.ts'
import { formatLabels } from '../../format-labels.ts'

const HEADINGS = ['NAME', 'STATUS', 'BACKEND', 'AGE', 'SOURCE']

/**
 * Formats a list of workspaces.
 *
 * @param connected workspaces connected to the bus, whose extensions are shown at verbosity 2
 */
export function workspacesTable(
  workspaces: readonly WireWorkspace[],
  verbosity = 0,
  connected: readonly WireConnected[] = [],
): string {
  if (workspaces.length === 0) return 'no workspaces; create one with: workspace create NAME'
  const extensions = new Map(connected.map((each) => [each.name, each.extensions]))
  const hasOwners = workspaces.some(({ owner }) => owner !== undefined)
  const headings = [
    ...HEADINGS,
    ...(hasOwners ? ['OWNER'] : []),
    ...(verbosity > 0 ? ['IMAGE', 'ADDRESS', 'LABELS', 'EXPIRES', 'SCHEDULE'] : []),
    ...(verbosity > 1 ? ['EXTENSIONS'] : []),
  ]
  return formatTable(
    headings,
    workspaces.map((each) => [
      ...cellsOf(each),
      ...(hasOwners ? [each.owner ?? ''] : []),
      ...(verbosity > 0
        ? [
            each.image ?? '',
            each.ip_address ?? '',
            formatLabels(each.labels).join(','),
            each.expires_at ?? '',
            each.schedule === undefined ? '' : textOf(each.schedule),
          ]
        : []),
      ...(verbosity > 1 ? [extensionsCell(extensions.get(each.name))] : []),
    ]),
  )
}

function extensionsCell(extensions: WireConnected['extensions'] | undefined): string {
  if (extensions === undefined) return 'not connected'
  return extensions
    .map(({ namespace, guest, host }) => `${namespace}(guest=${guest}, host=${host})`)
    .join(' ')
}

/** Formats the workspaces of several servers; an offline server has a line with the error. */
export function serversTable(
  servers: readonly {
    readonly server_name: string
    readonly workspaces?: readonly WireWorkspace[]
    readonly error?: string
  }[],
): string {
  const rows = servers.flatMap(({ server_name: server, workspaces = [], error }) => {
    if (error !== undefined) return [[server, '–', 'offline', '–', '–', error]]
    if (workspaces.length === 0) return [[server, '–', 'no workspaces']]
    return workspaces.map((each) => [server, ...cellsOf(each)])
  })
  return formatTable(['SERVER', ...HEADINGS], rows)
}

/** Formats a workspace with one line per field. */
export function workspaceRecord(workspace: WireWorkspace): string {
  return formatRecord(
    Object.entries(workspace)
      .filter(([, value]) => value !== '')
      .map(([key, value]) => [key, textOf(value)] as const),
  )
}

/** Formats lists with commas and objects with their keys. */
function textOf(value: WireWorkspace[keyof WireWorkspace]): string {
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.join(',')
  return Object.entries(value)
    .map(([key, inner]) => `${key}: ${Array.isArray(inner) ? inner.join(',') || 'none' : String(inner)}`)
    .join(', ')
}

function cellsOf(workspace: WireWorkspace): readonly string[] {
  const { name, status, backend } = workspace
  return [name, status, backend, age(workspace.created_at), sourceOf(workspace)]
}

function sourceOf({ repo, local_dir: localDir }: WireWorkspace): string {
  return repo !== '' ? repo : (localDir ?? '')
}

function age(createdAt: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(createdAt)) / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}
