import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { openSealedJson, sealJson } from '../../lib/fs/sealed-json.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'
import { TEAM_FILE, TEAM_KEYS_FILE } from '../state-dir.ts'
import { type User, userSchema } from './user.ts'

const fileSchema = Type.Object({ version: Type.Literal(1), users: Type.Array(userSchema) })

const KEYS_HEADER =
  '# The SSH keys of all users, rewritten at each change. Add keys with "workspace key add".\n'

/**
 * The users, in one file of the state directory. A change is on disk before it takes effect. A second file has their
 * SSH keys in OpenSSH's format, for the processes that authenticate connections.
 */
export class TeamFile {
  readonly #path: string
  readonly #keysPath: string
  readonly #lock = new KeyedLock()
  #users: readonly User[]
  #onChange: () => void = () => undefined

  private constructor(stateDir: string, users: readonly User[]) {
    this.#path = join(stateDir, TEAM_FILE)
    this.#keysPath = join(stateDir, TEAM_KEYS_FILE)
    this.#users = users
  }

  /**
   * Reads the users; there are none at the first start.
   *
   * @throws TEAM_FILE_DAMAGED when the file is not as it was written: without it, nobody's access is known
   */
  static async open(stateDir: string): Promise<TeamFile> {
    const path = join(stateDir, TEAM_FILE)
    const content = await readFile(path, 'utf8').catch(ignoreMissing)
    const file = new TeamFile(stateDir, content === undefined ? [] : parseUsers(content, path))
    await file.#writeKeys(file.users)
    return file
  }

  get users(): readonly User[] {
    return this.#users
  }

  /** Calls the listener after every change. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /**
   * Replaces the users, one change after another.
   *
   * @param edit returns the new users and a result
   * @throws BACKEND_ERROR when the files cannot be written, and everything that `edit` throws
   */
  async change<T>(edit: (users: readonly User[]) => readonly [readonly User[], T]): Promise<T> {
    return this.#lock.run('', async () => {
      const [users, result] = edit(this.#users)
      try {
        // First, so that a change is either complete or not made: a key that no user has admits nobody.
        await this.#writeKeys(users)
        await writeFileDurable(this.#path, sealJson({ version: 1, users }), { mode: 0o600 })
      } catch (error) {
        await this.#writeKeys(this.#users).catch(
          ignore('the first failure is reported, and a key without a user admits nobody'),
        )
        throw fault('BACKEND_ERROR', `the state directory cannot be written: ${messageOf(error)}`, error)
      }
      this.#users = users
      this.#onChange()
      return result
    })
  }

  async #writeKeys(users: readonly User[]): Promise<void> {
    const keys = users.filter(({ isDisabled }) => !isDisabled).flatMap(({ keys: own }) => own)
    const lines = keys.map(({ publicKey }) => `${publicKey}\n`)
    await writeFileDurable(this.#keysPath, KEYS_HEADER + lines.join(''), { mode: 0o600 })
  }
}

function parseUsers(content: string, path: string): readonly User[] {
  const parsed = openSealedJson(fileSchema, content)
  if (parsed !== undefined) return parsed.users
  throw fault(
    'TEAM_FILE_DAMAGED',
    `${path} is damaged or from a newer version; restore it from a backup, or delete it to begin without users`,
  )
}
