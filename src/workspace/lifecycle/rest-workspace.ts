import type { Backend } from '../backend/backend.ts'
import type { OpenWrites } from './open-writes.ts'
import type { Workspace } from '../workspace.ts'

/** Stops a workspace, once its writes have ended, or suspends it, which keeps its programs. */
export function restWorkspace(
  { name }: Workspace,
  backend: Backend,
  how: 'stop' | 'suspend',
  writes: OpenWrites,
): Promise<Workspace> {
  if (how === 'suspend') return backend.suspend(name)
  return writes.whileClosed(name, () => backend.stop(name))
}
