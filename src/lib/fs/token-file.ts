import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirs } from './make-dirs.ts'
import { defineFaults } from '../errors/fault.ts'
import { syncDirectory } from './write-durable.ts'

const tokenFault = defineFaults({ TOKEN_FILE_UNUSABLE: 'invalid' })

/**
 * Returns the token in a file, created at the first call: 32 random bytes as base64url, readable only by its owner (threat V1).
 * @throws TOKEN_FILE_UNUSABLE when others can read the file or it does not contain a token
 */
export async function openToken(path: string): Promise<string> {
  await make(path)
  return requireToken(path)
}

/** Returns the token in a file. @throws TOKEN_FILE_UNUSABLE also if there is no file */
export async function requireToken(path: string): Promise<string> {
  const token = await readToken(path)
  if (token === undefined)
    throw tokenFault(
      'TOKEN_FILE_UNUSABLE',
      `token file ${path} was deleted; restore it, or start again to get a new one`,
    )
  return token
}

/** Returns the token in a file; undefined if there is no file. @throws TOKEN_FILE_UNUSABLE */
export async function readToken(path: string): Promise<string | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw tokenFault('TOKEN_FILE_UNUSABLE', `token file ${path} cannot be read: ${error.message}`, error)
  })
  if (found === undefined) return undefined
  if ((found.mode & 0o077) !== 0)
    throw tokenFault(
      'TOKEN_FILE_UNUSABLE',
      `token file ${path} is readable by others; run "chmod 600 ${path}", or delete it to get a new one`,
    )
  const token = (await readFile(path, 'utf8')).trim()
  if (token.length < 20)
    throw tokenFault(
      'TOKEN_FILE_UNUSABLE',
      `token file ${path} does not contain a token of at least 20 characters; delete it to get a new one`,
    )
  return token
}

/** Returns the token in a file of the user's, whose permissions they decide about. @throws TOKEN_FILE_UNUSABLE */
export async function readGivenToken(path: string): Promise<string> {
  const token = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw tokenFault('TOKEN_FILE_UNUSABLE', `token file ${path} cannot be read: ${error.message}`, error)
  })
  // No request could send it, or any request would.
  if (!/^[\x21-\x7e]+$/.test(token.trim()))
    throw tokenFault(
      'TOKEN_FILE_UNUSABLE',
      `token file ${path} does not contain a token: one line of ASCII characters without spaces`,
    )
  return token.trim()
}

async function make(path: string): Promise<void> {
  makeDirs(dirname(path), 0o700)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${randomBytes(32).toString('base64url')}\n`)
    await file.sync()
    await file.close()
    // Unlike a rename, this never replaces a token already in use.
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await syncDirectory(dirname(path))
  } finally {
    await rm(temporary, { force: true })
  }
}
