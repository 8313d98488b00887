import { posix } from 'node:path'
import type { Backend } from '../backend/backend.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import { SECTIONS, type Section } from './format.ts'

/**
 * Returns the directory of each section inside a workspace. A home that contains the workspace's directory, or is
 * inside it, is not a separate one.
 */
export async function directoriesOf(backend: Backend, name: string): Promise<ReadonlyMap<Section, string>> {
  const home = posix.resolve('/', (await backend.loginEnvironment(name)).home)
  const isSeparate = !isWithin(home, WORKSPACE_DIR) && !isWithin(WORKSPACE_DIR, home)
  const [workspace, own] = SECTIONS
  return new Map([[workspace, WORKSPACE_DIR], ...(isSeparate ? [[own, home] as const] : [])])
}

function isWithin(path: string, directory: string): boolean {
  return `${path}/`.startsWith(directory === '/' ? '/' : `${directory}/`)
}
