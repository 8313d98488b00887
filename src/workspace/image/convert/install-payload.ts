import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '../../errors.ts'
import { directoryInTree, kindInTree, pathInTree } from './in-tree.ts'
import type { ImageConfig } from '../source/rootfs-source.ts'

/** Directory of our files in an image. */
const PAYLOAD_DIR = '/opt/workspace'
const MANIFEST_DIR = '/etc/workspace-extensions.d'
const EXTENSION_UNIT = 'workspace-ext-'
const SYSTEM_UNITS = '/etc/systemd/system'

/** Locations of systemd in an image, whether or not /sbin/init points to one. */
const SYSTEMD = ['/lib/systemd/systemd', '/usr/lib/systemd/systemd'] as const

/**
 * Installs the guest programs in an unpacked image, with the image's own settings, and their units if it has
 * systemd. Removes everything that would give all of its VMs the same machine id, or make them look like a
 * container. Returns the paths that are ours. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when the guest programs are missing
 */
export function installPayload(tree: string, guestDir: string, config: ImageConfig): readonly string[] {
  if (!existsSync(guestDir))
    throw fault('BACKEND_ERROR', `the guest programs are missing from ${guestDir}; run npm run build`)
  const payload = pathInTree(tree, PAYLOAD_DIR)
  directoryInTree(tree, '/opt')
  rmSync(payload, { recursive: true, force: true })
  // Links in it are ours and are meant to be resolved inside the image.
  cpSync(guestDir, payload, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(payload, 'image.json'), `${JSON.stringify(config)}\n`, { mode: 0o644 })
  for (const path of ['/proc', '/sys', '/dev', '/run', '/tmp']) directoryInTree(tree, path)
  rmSync(join(tree, '.dockerenv'), { force: true })

  if (!SYSTEMD.some((path) => kindInTree(tree, path) === 'file')) return [PAYLOAD_DIR]
  // systemd expects an empty file in images; each VM then generates its own id.
  if (kindInTree(tree, '/etc/machine-id') === 'file') writeFileSync(pathInTree(tree, '/etc/machine-id'), '')
  return [
    PAYLOAD_DIR,
    ...installUnits(tree, join(guestDir, 'units')),
    ...installManifests(tree, join(guestDir, 'manifests')),
  ]
}

/** Installs our extension manifests beside the image's own. */
function installManifests(tree: string, manifests: string): readonly string[] {
  if (!existsSync(manifests)) return []
  const directory = directoryInTree(tree, MANIFEST_DIR)
  return readdirSync(manifests)
    .toSorted()
    .map((name) => {
      rmSync(join(directory, name), { recursive: true, force: true })
      writeFileSync(join(directory, name), readFileSync(join(manifests, name)), { mode: 0o644 })
      return `${MANIFEST_DIR}/${name}`
    })
}

function installUnits(tree: string, units: string): readonly string[] {
  if (!existsSync(units)) return []
  const directory = directoryInTree(tree, SYSTEM_UNITS)
  return readdirSync(units)
    .filter((name) => name.endsWith('.service'))
    .toSorted()
    .flatMap((name) => {
      const text = readFileSync(join(units, name), 'utf8')
      rmSync(join(directory, name), { recursive: true, force: true })
      writeFileSync(join(directory, name), text, { mode: 0o644 })
      // The agent starts the units of extensions that the server's configuration enables.
      const targets = name.startsWith(EXTENSION_UNIT) ? [] : wantedBy(text)
      const links = targets.map((target) => {
        const wants = `${SYSTEM_UNITS}/${target}.wants`
        // A link from the image could point anywhere.
        const link = join(directoryInTree(tree, wants), name)
        rmSync(link, { recursive: true, force: true })
        symlinkSync(`${SYSTEM_UNITS}/${name}`, link)
        return `${wants}/${name}`
      })
      return [`${SYSTEM_UNITS}/${name}`, ...links]
    })
}

/** Returns the targets that `systemctl enable` would link the unit to. */
function wantedBy(unit: string): readonly string[] {
  const targets = [...unit.matchAll(/^WantedBy=(.*)$/gm)].flatMap(([, names = '']) => names.split(/\s+/))
  const good = targets.filter((name) => /^[\w@-]+\.target$/.test(name))
  return good.length > 0 ? good : ['multi-user.target']
}
