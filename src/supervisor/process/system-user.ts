import { readFileSync } from 'node:fs'
import { fault } from '../errors.ts'

/** A user of this machine. */
export interface SystemUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
  /** Further groups. */
  readonly groups: readonly number[]
}

/** Finds a user by name or number; `user:group` selects another group. @throws PROCESS_START_FAILED when either does not exist */
export function findUser(written: string): SystemUser {
  const [user = '', group] = written.split(':')
  const entry = lines('/etc/passwd').find(([name, , uid]) => name === user || uid === user)
  if (entry === undefined && !/^\d+$/.test(user))
    throw fault('PROCESS_START_FAILED', `user "${user}" does not exist`)
  const [name = user, , uid = user, ownGid = user, , home = '/'] = entry ?? []
  const groups = lines('/etc/group')
  const [, , gid = group] =
    group === undefined
      ? ['', '', ownGid]
      : (groups.find(([known, , id]) => known === group || id === group) ?? [])
  if (gid === undefined || !/^\d+$/.test(gid))
    throw fault('PROCESS_START_FAILED', `group "${group}" does not exist`)
  const further = groups
    .filter(([, , , members = '']) => members.split(',').includes(name))
    .map(([, , id]) => Number(id))
  return { name, uid: Number(uid), gid: Number(gid), home, groups: [...new Set([Number(gid), ...further])] }
}

/** Returns the name of a user by number, or the number if the user has none. */
export function userNameOf(uid: number): string {
  return lines('/etc/passwd').find(([, , id]) => id === String(uid))?.[0] ?? String(uid)
}

function lines(file: string): readonly (readonly string[])[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'))
}
