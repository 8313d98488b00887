import { readFileSync } from 'node:fs'

/** An entry of /etc/passwd with the user's groups in /etc/group. */
export interface User {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly groups: readonly number[]
  readonly home: string
}

const ROOT: User = { name: 'root', uid: 0, gid: 0, groups: [0], home: '/root' }

/**
 * Returns a user by name or number. A number without an entry is accepted, as by container engines; undefined for an unknown
 * name.
 */
export function findUser(nameOrNumber: string): User | undefined {
  const isNumber = /^\d{1,9}$/.test(nameOrNumber)
  for (const line of linesOf('/etc/passwd')) {
    const [name = '', , uid = '', gid = '', , home = ''] = line.split(':')
    if (!/^\d+$/.test(uid) || !/^\d+$/.test(gid)) continue
    if (name !== nameOrNumber && !(isNumber && Number(uid) === Number(nameOrNumber))) continue
    return {
      name,
      uid: Number(uid),
      gid: Number(gid),
      groups: groupsOf(name, Number(gid)),
      home: home || '/',
    }
  }
  if (!isNumber) return nameOrNumber === 'root' ? ROOT : undefined
  const uid = Number(nameOrNumber)
  return uid === 0 ? ROOT : { name: nameOrNumber, uid, gid: uid, groups: [uid], home: '/' }
}

function groupsOf(user: string, gid: number): readonly number[] {
  const groups = new Set([gid])
  for (const line of linesOf('/etc/group')) {
    const [, , number = '', members = ''] = line.split(':')
    if (/^\d+$/.test(number) && members.split(',').includes(user)) groups.add(Number(number))
  }
  return [...groups]
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}
