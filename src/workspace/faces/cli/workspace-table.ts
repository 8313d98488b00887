import { formatRecord, formatTable } from '../../../lib/cli/table.ts'
import type { WireWorkspace } from '../../api/workspace.ts'

const HEADINGS = ['NAME', 'STATUS', 'BACKEND', 'AGE', 'SOURCE']

/** Workspaces as a person reads a list of them. */
export function workspacesTable(workspaces: readonly WireWorkspace[]): string {
  if (workspaces.length === 0) return 'no workspaces; make one with: workspace create NAME'
  return formatTable(HEADINGS, workspaces.map(cellsOf))
}

/** The workspaces of several servers; one that could not be asked has a line that says why. */
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

/** One workspace, a line a field. */
export function workspaceRecord(workspace: WireWorkspace): string {
  return formatRecord(
    Object.entries(workspace)
      .filter(([, value]) => value !== '')
      .map(([key, value]) => [key, String(value)] as const),
  )
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
