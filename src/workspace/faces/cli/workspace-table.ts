import { formatRecord, formatTable } from '../../../lib/cli/table.ts'
import type { WireWorkspace } from '../../api/workspace.ts'

/** Workspaces as a person reads a list of them. */
export function workspacesTable(workspaces: readonly WireWorkspace[]): string {
  if (workspaces.length === 0) return 'no workspaces; make one with: workspace create NAME'
  return formatTable(
    ['NAME', 'STATUS', 'BACKEND', 'AGE', 'SOURCE'],
    workspaces.map((each) => [each.name, each.status, each.backend, age(each.created_at), sourceOf(each)]),
  )
}

/** One workspace, a line a field. */
export function workspaceRecord(workspace: WireWorkspace): string {
  return formatRecord(
    Object.entries(workspace)
      .filter(([, value]) => value !== '')
      .map(([key, value]) => [key, String(value)] as const),
  )
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
