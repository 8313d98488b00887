import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirs } from './make-dirs.ts'
import { defineFaults } from '../errors/fault.ts'
import { syncDirectory } from './write-durable.ts'

const tokenFault = defineFaults({ TOKEN_FILE_UNUSABLE: 'invalid' })

/**
 * The token in a file, made on the first call: 32 random bytes as base64url, for its owner alone (threat V1). Throws
 * TOKEN_FILE_UNUSABLE for a file that others may read, or that holds no token.
 */
export async function openToken(path: string): Promise<string> {
  await make(path)
  const token = await readToken(path)
  if (token === undefined) throw tokenFault('TOKEN_FILE_UNUSABLE', `${path} is gone`)
  return token
}

/** The token in a file; undefined when there is no file. @throws TOKEN_FILE_UNUSABLE */
export async function readToken(path: string): Promise<string | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw tokenFault('TOKEN_FILE_UNUSABLE', `token file ${path} cannot be read: ${error.message}`, error)
  })
  if (found === undefined) return undefined
  if ((found.mode & 0o077) !== 0)
    throw tokenFault(
      'TOKEN_FILE_UNUSABLE',
      `token file ${path} may be read by others; run "chmod 600 ${path}", or remove it for a new one`,
    )
  const token = (await readFile(path, 'utf8')).trim()
  if (token.length < 20)
    throw tokenFault(
      'TOKEN_FILE_UNUSABLE',
      `token file ${path} holds no token of at least 20 characters; remove it for a new one`,
    )
  return token
}

async function make(path: string): Promise<void> {
  makeDirs(dirname(path), 0o700)
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${randomBytes(32).toString('base64url')}\n`)
    await file.sync()
    await file.close()
    // Unlike a rename it never replaces one that somebody already uses.
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await syncDirectory(dirname(path))
  } finally {
    await rm(temporary, { force: true })
  }
}
