import { fault } from '../errors.ts'
import { readManifest } from '../publication/stored-manifest.ts'
import { isRepoName, LATEST, MAX_ALIASES, type Repo } from '../repo/meta.ts'
import { REPOS } from '../repo/repo-list.ts'
import { changeMeta } from '../repo/stored-meta.ts'
import type { Store } from '../store/store.ts'
import type { LocalFile } from './list-folder.ts'

/** A change of an alias. */
export interface AliasRequest {
  /** Name of the repository on the site. */
  readonly repo: string
  readonly alias: string
  /** Version that the alias shall resolve to; undefined removes the alias. */
  readonly version: string | undefined
}

/** Names in the request for a publish. */
interface PublishedNames {
  readonly repo: string
  readonly version?: string | undefined
  readonly aliases?: readonly string[] | undefined
}

/**
 * Sets or removes an alias. One object is replaced, so readers get pages of either the old or the new version.
 *
 * @throws PUBLISH_INVALID when the repository, version or alias does not exist, or the name cannot be an alias
 */
export async function setAlias({ repo, alias, version }: AliasRequest, store: Store): Promise<void> {
  if (!isRepoName(repo)) throw fault('PUBLISH_INVALID', `"${repo}" cannot be the name of a repository`)
  const root = `${REPOS}${repo}/`
  const change = async (meta: Repo): Promise<Repo> => ({
    ...meta,
    aliases: await nextAliases({ repo, alias, version }, meta, store),
  })
  await changeMeta(store, { name: repo, root, change })
}

async function nextAliases(
  { repo, alias, version }: AliasRequest,
  meta: Repo,
  store: Store,
): Promise<ReadonlyMap<string, string>> {
  const aliases = new Map(meta.aliases)
  if (version === undefined) {
    if (!aliases.delete(alias)) throw fault('PUBLISH_INVALID', `"${repo}" has no alias "${alias}"`)
  } else {
    if (!(meta.versions ?? []).includes(version))
      throw fault('PUBLISH_INVALID', `"${repo}" has no version "${version}"; publish it first`)
    if (meta.expires?.has(version) === true)
      throw fault(
        'PUBLISH_INVALID',
        `version "${version}" expires and cannot have an alias; publish it without --expires`,
      )
    await checkAlias(alias, meta, store)
    aliases.set(alias, version)
  }
  checkCount(aliases)
  return aliases
}

/**
 * Checks the aliases of a publish, and that neither its version nor its files would be hidden by an existing alias.
 *
 * @throws PUBLISH_INVALID when a name is taken
 */
export async function checkAliases(
  { repo, version, aliases = [] }: PublishedNames,
  meta: Repo,
  store: Store,
  files: readonly LocalFile[],
): Promise<void> {
  if (version === undefined) {
    if (aliases.length > 0) throw fault('PUBLISH_INVALID', 'an alias requires a version; add --version')
    const taken = [...(meta.aliases?.keys() ?? []), ...(meta.latest === undefined ? [] : [LATEST])]
    const hidden = taken.find((name) => !isVersionOf(meta, name) && hasFolder(files, name))
    if (hidden !== undefined)
      throw fault(
        'PUBLISH_INVALID',
        `the folder "${hidden}" would be hidden by the alias "${hidden}"; rename the folder`,
      )
    return
  }
  if (meta.aliases?.has(version) === true)
    throw fault(
      'PUBLISH_INVALID',
      `"${version}" is an alias of version "${meta.aliases.get(version)}"; remove it with "content-server alias ${repo} ${version} --remove"`,
    )
  if (meta.latest === undefined) await checkFolder(LATEST, meta, store)
  for (const alias of aliases)
    await checkAlias(alias, { ...meta, versions: [version, ...(meta.versions ?? [])] }, store)
  checkCount(new Map([...(meta.aliases ?? []), ...aliases.map((alias) => [alias, version] as const)]))
}

async function checkAlias(alias: string, meta: Repo, store: Store): Promise<void> {
  if (!isRepoName(alias))
    throw fault(
      'PUBLISH_INVALID',
      `the alias "${alias}" must consist of letters, digits, ".", "_" and "-", and begin with a letter or digit`,
    )
  if (alias === LATEST)
    throw fault('PUBLISH_INVALID', `"${LATEST}" is always the latest version; choose another alias`)
  if (isVersionOf(meta, alias))
    throw fault('PUBLISH_INVALID', `"${alias}" is a version and cannot be an alias`)
  await checkFolder(alias, meta, store)
}

/** Refuses an alias with the name of a folder among the repository's own pages. */
async function checkFolder(alias: string, meta: Repo, store: Store): Promise<void> {
  const { manifest } = await readManifest(store, `${REPOS}${meta.name}/`)
  if (hasFolder([...manifest.files.values()], alias))
    throw fault('PUBLISH_INVALID', `the alias "${alias}" would hide the folder "${alias}" of the repository`)
}

function checkCount(aliases: ReadonlyMap<string, string>): void {
  if (aliases.size > MAX_ALIASES)
    throw fault('PUBLISH_INVALID', `a repository can have at most ${MAX_ALIASES} aliases`)
}

function isVersionOf({ versions = [], latest }: Repo, name: string): boolean {
  return name === latest || versions.includes(name)
}

function hasFolder(files: readonly { readonly path: string }[], name: string): boolean {
  return files.some(({ path }) => path.startsWith(`${name}/`))
}
