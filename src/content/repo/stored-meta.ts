import { fault } from '../errors.ts'
import { type Change, changeObject } from '../store/change-object.ts'
import { readObject } from '../store/read-object.ts'
import type { Store } from '../store/store.ts'
import { formatMeta, MAX_META_BYTES, MAX_VERSIONS, META_FILE, parseMeta, type Repo } from './meta.ts'

/** Reads a repository's metadata; only its name if there is none. */
export async function readMeta(store: Store, name: string, root: string): Promise<Repo> {
  const read = await readObject(store, `${root}${META_FILE}`, MAX_META_BYTES)
  return typeof read === 'string' ? { name } : parseMeta(name, read.bytes)
}

/** A change of a repository's metadata. */
interface MetaChange {
  readonly name: string
  readonly root: string
  /** Version to which the change belongs: it waits while that is being removed. */
  readonly version?: string | undefined
  /** Whether the change belongs to the removal of the repository, which others wait for. */
  readonly isRemoval?: boolean
  /** Returns the new metadata, or `same`. Called again if other processes change it meanwhile. */
  readonly change: (old: Repo) => Promise<Repo | 'same'> | Repo | 'same'
}

/**
 * Changes a repository's metadata in the store. Returns it as it is then, and does not lose changes of other
 * processes.
 *
 * @throws PUBLISH_CONFLICT when others change it all the time, or do not finish to remove the repository or version
 */
export async function changeMeta(
  store: Store,
  { name, root, version, isRemoval = false, change }: MetaChange,
): Promise<Repo> {
  const decide = async (bytes: Uint8Array | undefined): Promise<Change<Repo>> => {
    const old = bytes === undefined ? { name } : parseMeta(name, bytes)
    if (!isRemoval && isBeingRemoved(old, version)) return { is: 'busy', error: beingRemoved(old, version) }
    const next = await change(old)
    if (next === 'same') return { is: 'same', result: old }
    return { is: 'new', bytes: formatChecked(next), result: next }
  }
  return changeObject(store, { key: `${root}${META_FILE}`, maxBytes: MAX_META_BYTES, change: decide })
}

/** Whether an unpublish that has begun removes a version, or the repository. */
function isBeingRemoved({ removing = [] }: Repo, version: string | undefined): boolean {
  return removing === 'all' || (version !== undefined && removing.includes(version))
}

function beingRemoved({ name, removing }: Repo, version: string | undefined): Error {
  const [what, more] =
    removing === 'all' ? [`"${name}"`, ''] : [`"${name}", version "${version}",`, ` --version ${version}`]
  return fault(
    'PUBLISH_CONFLICT',
    `${what} is being unpublished; try again later, or if that was interrupted, complete it with "content-server unpublish ${name}${more}"`,
  )
}

/**
 * Formats metadata.
 *
 * @throws PUBLISH_INVALID when it could not be read back
 */
export function formatChecked(meta: Repo): Buffer {
  const { removing = [] } = meta
  const stored = { ...formatMeta(meta), ...(removing.length > 0 && { removing }) }
  const bytes = Buffer.from(`${JSON.stringify(stored, null, 2)}\n`)
  const count = meta.versions?.length ?? 0
  if (count > MAX_VERSIONS || bytes.length > MAX_META_BYTES)
    throw fault(
      'PUBLISH_INVALID',
      `${count} versions are too many for the repository "${meta.name}"; remove some with "content-server unpublish"`,
    )
  return bytes
}
