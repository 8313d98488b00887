import { posix } from 'node:path'
import { isWithin } from '../../lib/fs/is-within.ts'
import { type Findings, isObject, kindOf, refuseMore } from './findings.ts'

const MAX_FEATURES = 32
/** Folder of a workspace that contains the folders of features, as the specification requires. */
const FEATURES_DIR = '.devcontainer'

/** A feature that a devcontainer.json names, in a folder of the workspace or in an archive. */
export interface FeatureReference {
  /** Path relative to the workspace's directory, or the address of the archive. */
  readonly place: string
  readonly isArchive: boolean
  /** The text or object with its options, or another value. */
  readonly value: unknown
}

/** A feature to install. Source: https://containers.dev/implementors/features/ */
export interface Feature {
  readonly id: string
  /** Its folder relative to the workspace's directory, or its archive. */
  readonly content: string | Buffer
  /** Its options as variables of its script. */
  readonly options: Readonly<Record<string, string>>
}

/**
 * Returns the features in folders below `.devcontainer`, in the order in which the official CLI installs them; others
 * are noted.
 *
 * @param configDir directory of the devcontainer.json relative to the workspace's; undefined for none
 */
export function featuresOf(
  value: unknown,
  configDir: string | undefined,
  { invalid, notes }: Findings,
): readonly FeatureReference[] {
  if (value === undefined || value === null) return []
  if (!isObject(value)) {
    invalid.push(`features is ${kindOf(value)}, not an object, and is ignored`)
    return []
  }
  const entries = Object.entries(value).filter(([, options]) => options !== false)
  refuseMore('features', 'entries', entries.length, MAX_FEATURES)
  const found = entries.flatMap(([name, options]) => {
    const shown = name.slice(0, 80)
    if (configDir !== undefined && isArchiveAddress(name))
      return [{ place: name, isArchive: true, value: options }]
    if (configDir === undefined || !/^\.\.?\//.test(name)) {
      notes.push(
        `features: ${shown} is not supported: use an image that has it, a folder below ${FEATURES_DIR}, or an archive`,
      )
      return []
    }
    const folder = posix.join(configDir, name).replace(/\/$/, '')
    // oxlint-disable-next-line no-control-regex -- a name that spans lines is a mistake or an attack
    if (isWithin(folder, FEATURES_DIR) && !/[\0-\x1f\x7f]/.test(folder))
      return [{ place: folder, isArchive: false, value: options }]
    invalid.push(`features: ${shown} is not a folder below ${FEATURES_DIR} and is ignored`)
    return []
  })
  return found.toSorted((a, b) => Number(b.isArchive) - Number(a.isArchive) || a.place.localeCompare(b.place))
}

/** Source: https://containers.dev/implementors/features/#referencing-a-feature */
function isArchiveAddress(name: string): boolean {
  if (!name.startsWith('https://') || !URL.canParse(name)) return false
  return /\/devcontainer-feature-[\w-]+\.tgz$/.test(new URL(name).pathname)
}
