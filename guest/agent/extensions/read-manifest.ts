import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../src/lib/errors/message.ts'
import {
  type ExtensionManifest,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '../../../src/lib/guest/extension.ts'

const MANIFESTS = '/etc/workspace-extensions.d'

/**
 * Reads an extension's manifest; returns undefined and prints the reason if it is not usable. Only a regular file that root alone can
 * write is accepted, because the unit it names is started as root (threat W11).
 *
 * @param owner required owner of the file
 */
export function readManifest(
  namespace: string,
  directory = MANIFESTS,
  owner = 0,
): ExtensionManifest | undefined {
  const path = join(directory, `${namespace}.yaml`)
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { uid, mode, size } = fstatSync(file)
      if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error('it is not a regular file')
      if (uid !== owner || (mode & 0o022) !== 0) throw new Error('users other than root can write it')
      if (size > MAX_MANIFEST_BYTES) throw new Error('it exceeds 64 KiB')
      return parseManifest(readFileSync(file, 'utf8'), namespace)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    console.error(`workspace-agent: ${path} is ignored: ${messageOf(error)}`)
    return undefined
  }
}
