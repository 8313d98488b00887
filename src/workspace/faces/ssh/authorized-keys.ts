import { readFile } from 'node:fs/promises'
import { defineFaults, isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { isKeyType, keyFields, readKey } from '../../../lib/ssh/public-key.ts'

const keysFault = defineFaults({ AUTHORIZED_KEYS_UNUSABLE: 'invalid' })

/** Whether a key may log in; `refused` if its owner expects that it may. */
type KeyDecision =
  | { readonly is: 'allowed' }
  | { readonly is: 'unknown' }
  | { readonly is: 'refused'; readonly reason: string }

/** Decides whether a key, given as its public blob, may log in. */
export type KeyRule = (publicBlob: Buffer) => Promise<KeyDecision>

/** Lines of an authorized_keys file. */
export interface AuthorizedKeys {
  readonly blobs: readonly Buffer[]
  /** Lines that admit no key. OpenSSH's server also skips those that it cannot read. */
  readonly ignored: readonly IgnoredLine[]
}

interface IgnoredLine {
  /** The file, the line and what is wrong with it. */
  readonly message: string
  /** The key in the line. */
  readonly blob: Buffer | undefined
}

/** Accepts every key: per the specification, the user name is the identity, and any key its owner holds is valid. */
export const anyKey: KeyRule = () => Promise.resolve({ is: 'allowed' })

/**
 * Accepts only keys listed in a file in OpenSSH's authorized_keys format. The file is read for every login, so that removing a
 * key takes effect immediately. While the file is unreadable, every login is refused.
 */
export function listedKeys(file: string): KeyRule {
  return async (publicBlob) => {
    try {
      const { blobs, ignored } = await readAuthorizedKeys(file)
      if (blobs.some((blob) => blob.equals(publicBlob))) return { is: 'allowed' }
      const line = ignored.find(({ blob }) => blob?.equals(publicBlob))
      return line === undefined ? { is: 'unknown' } : { is: 'refused', reason: line.message }
    } catch (error) {
      if (isFault(error)) return { is: 'refused', reason: error.message }
      throw error
    }
  }
}

/**
 * Reads an authorized_keys file. Lines with options before the key (`from=`, `command=`) are ignored: OpenSSH would restrict
 * the key, and this server would silently not.
 *
 * @throws AUTHORIZED_KEYS_UNUSABLE when the file is unreadable
 */
export async function readAuthorizedKeys(file: string): Promise<AuthorizedKeys> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (error) {
    throw keysFault('AUTHORIZED_KEYS_UNUSABLE', `cannot read ssh.authorized_keys: ${messageOf(error)}`, error)
  }
  const blobs: Buffer[] = []
  const ignored: IgnoredLine[] = []
  for (const [index, line] of content.split('\n').entries()) {
    const text = line.trim()
    if (text === '' || text.startsWith('#')) continue
    const { blob, problem } = readLine(text)
    if (problem !== undefined)
      ignored.push({ message: `${file} line ${index + 1} is ignored: ${problem}`, blob })
    else if (blob !== undefined) blobs.push(blob)
  }
  return { blobs, ignored }
}

/** Returns the key of a line, and what prevents it from logging in. */
function readLine(text: string): { readonly blob?: Buffer | undefined; readonly problem?: string } {
  const options = isKeyType(text) ? '' : optionsOf(text)
  const { type, blob } = keyFields(text.slice(options.length).trimStart())
  if (!isKeyType(type))
    return { problem: 'it is not a line such as "ssh-ed25519 AAAA… comment"; comments begin with #' }
  if (blob === undefined) return { problem: `its ${type} key is damaged: copy the public key again` }
  const names = options.replace(/"(?:\\"|[^"])*"?/g, '').replaceAll(/=[^,]*/g, '')
  if (options !== '')
    return {
      blob,
      problem: `options (${names.slice(0, 200)}) are not supported: without them, the key may log in unrestricted`,
    }
  const reading = readKey(type, blob)
  return reading.is === 'usable' ? { blob } : { blob, problem: reading.reason }
}

/** Returns the text before the first blank outside of quotes, as OpenSSH reads it. */
function optionsOf(text: string): string {
  return /^(?:"(?:\\"|[^"])*"?|[^\s"])*/.exec(text)?.[0] ?? ''
}
