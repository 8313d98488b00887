import { readFile } from 'node:fs/promises'
import ssh2 from '../../../lib/ssh/ssh2.ts'
import { defineFaults } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'

const keysFault = defineFaults({ AUTHORIZED_KEYS_UNUSABLE: 'invalid' })

/** Whether a key, given as its public blob, may log in. */
export type KeyRule = (publicBlob: Buffer) => Promise<boolean>

/** As the specification has it: identity is the user name, and every key that its owner holds will do. */
export const anyKey: KeyRule = () => Promise.resolve(true)

/**
 * Only keys that a file in OpenSSH's authorized_keys format lists. It is read anew for every login, so that a key taken
 * out is out at once; while it cannot be read, nobody is let in.
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
 * The public blobs in an authorized_keys file.
 *
 * @throws AUTHORIZED_KEYS_UNUSABLE, naming the line: options before a key (`from=`, `command=`) would restrict it elsewhere, and here be taken for nothing
 */
export async function readAuthorizedKeys(file: string): Promise<readonly Buffer[]> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (error) {
    throw keysFault(
      'AUTHORIZED_KEYS_UNUSABLE',
      `ssh.authorized_keys cannot be read: ${messageOf(error)}`,
      error,
    )
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
