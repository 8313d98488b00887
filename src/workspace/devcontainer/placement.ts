import { posix } from 'node:path'
import { isWithin } from '../../lib/fs/is-within.ts'
import { type Findings, isObject, kindOf, refuseMore } from './findings.ts'

const MAX_MOUNTS = 64
const MAX_PATH_BYTES = 4_095

/** Paths that a devcontainer.json wants inside the workspace. */
export interface Placement {
  /** Absolute path of the directory in which commands run. */
  readonly folder: string
  /** Absolute path of a link to the directory of the workspace; undefined for none. */
  readonly link: string | undefined
  /** Absolute paths of directories that exist before the commands run, in place of mounted volumes. */
  readonly directories: readonly string[]
}

/** Returns `workspaceFolder` as it is written; `workspaceDir` if it is absent or not an absolute path. */
export function folderOf(value: unknown, workspaceDir: string, { invalid }: Findings): string {
  if (value === undefined || value === null || value === '') return workspaceDir
  if (typeof value === 'string' && absolutePath(value) !== undefined) return value
  invalid.push(`workspaceFolder is not an absolute path and is ignored`)
  return workspaceDir
}

/**
 * Returns the other path of the workspace's files: the target of `workspaceMount`, or the directory below
 * /workspaces that the official CLI mounts by default and `folder` refers to.
 */
export function linkOf(
  mount: unknown,
  { folder, workspaceDir }: { readonly folder: string; readonly workspaceDir: string },
  { notes }: Findings,
): string | undefined {
  if (mount === undefined) return /^\/workspaces\/[^/]+/.exec(absolutePath(folder) ?? '')?.[0]
  const { type, source, target } = typeof mount === 'string' ? parseMount(mount) : {}
  const path = absolutePath(target)
  if (type !== 'bind' || source !== workspaceDir || path === undefined) {
    notes.push(`workspaceMount is not supported: files are in ${workspaceDir}`)
    return undefined
  }
  return isWithin(path, workspaceDir) || path === '/' ? undefined : path
}

/**
 * Returns the directories that take the place of the volumes in `mounts`: a directory of the workspace lasts as long
 * as the workspace. Nothing of the host is mounted (threat W12).
 */
export function directoriesOf(value: unknown, findings: Findings): readonly string[] {
  const { invalid, notes } = findings
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) {
    invalid.push(`mounts is ${kindOf(value)}, not a list, and is ignored`)
    return []
  }
  refuseMore('mounts', 'entries', value.length, MAX_MOUNTS)
  return value.flatMap((each: unknown, index) => {
    const mount = typeof each === 'string' ? parseMount(each) : isObject(each) ? each : undefined
    const target = absolutePath(mount?.['target'])
    if (mount === undefined || target === undefined || target === '/') {
      invalid.push(`mounts[${index}] has no absolute target and is ignored`)
      return []
    }
    const { type = 'volume', source } = mount
    if (type !== 'volume' && type !== 'tmpfs') {
      notes.push(`mounts: ${target} is not mounted, because workspaces see only local_dir of the host`)
      return []
    }
    if (typeof source === 'string' && !source.includes('${devcontainerId}'))
      notes.push(`mounts: ${target} is a directory of this workspace alone, not a volume that others share`)
    return [target]
  })
}

/** Reads an entry as `docker run --mount` does; keys have their longest names. */
function parseMount(text: string): Readonly<Record<string, string>> {
  const names: Readonly<Record<string, string>> = { src: 'source', dst: 'target', destination: 'target' }
  return Object.fromEntries(
    text.split(',').map((field) => {
      const [key = '', ...value] = field.split('=')
      const name = key.trim().toLowerCase()
      return [names[name] ?? name, value.join('=')]
    }),
  )
}

/** Returns the path without `.`, `..` and trailing slashes; undefined if it is not a usable absolute path. */
function absolutePath(value: unknown): string | undefined {
  // oxlint-disable-next-line no-control-regex -- a path that spans lines or has NUL bytes is a mistake or an attack
  if (typeof value !== 'string' || !value.startsWith('/') || /[\0-\x1f\x7f]/.test(value)) return undefined
  if (Buffer.byteLength(value) > MAX_PATH_BYTES) return undefined
  const path = posix.normalize(value)
  return path === '/' ? path : path.replace(/\/$/, '')
}
