import { readFile } from 'node:fs/promises'
import ssh2 from '../../../lib/ssh/ssh2.ts'
import { defineFaults } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'

const keysFault = defineFaults({ AUTHORIZED_KEYS_UNUSABLE: 'invalid' })

/** Decides whether a key, given as its public blob, may log in. */
export type KeyRule = (publicBlob: Buffer) => Promise<boolean>

/** Accepts every key: per the specification, the user name is the identity, and any key its owner holds is valid. */
export const anyKey: KeyRule = () => Promise.resolve(true)

/**
 * Accepts only keys listed in a file in OpenSSH's authorized_keys format. The file is read for every login, so that removing a
 * key takes effect immediately. While the file is unreadable, every login is refused.
 */
export function listedKeys(file: string): KeyRule {
  return async (publicBlob) => {
    try {
      return (await readAuthorizedKeys(file)).some((blob) => blob.equals(publicBlob))
    } catch {
      return false
    }
  }
}

/**
 * Returns the public blobs in an authorized_keys file.
 *
 * @throws AUTHORIZED_KEYS_UNUSABLE when the file is unreadable or a line has options before the key (`from=`, `command=`):
 * OpenSSH would restrict such a key, and this server would silently ignore the restriction
 */
export async function readAuthorizedKeys(file: string): Promise<readonly Buffer[]> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (error) {
    throw keysFault('AUTHORIZED_KEYS_UNUSABLE', `cannot read ssh.authorized_keys: ${messageOf(error)}`, error)
  }
  return content.split('\n').flatMap((line, index) => {
    const text = line.trim()
    if (text === '' || text.startsWith('#')) return []
    const key = ssh2.utils.parseKey(text)
    if (!(key instanceof Error)) return [key.getPublicSSH()]
    throw keysFault(
      'AUTHORIZED_KEYS_UNUSABLE',
      `${file} line ${index + 1} is not a plain "type key comment" line; options before a key are not supported`,
      key,
    )
  })
}
