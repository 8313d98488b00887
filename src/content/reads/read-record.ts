import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Repo } from '../repo/meta.ts'

/** Schema of a record, one line of JSON. */
export const readRecordSchema = Type.Object({
  /** RFC 3339. */
  time: Type.String(),
  /** Absent for programs, visitors and the single password. */
  user: Type.Optional(Type.String()),
  /** Name of a program's token. */
  token: Type.Optional(Type.String()),
  repo: Type.String(),
  version: Type.Optional(Type.String()),
  /** Path in the repository. */
  path: Type.String(),
  method: Type.String(),
  status: Type.Integer(),
  /** Whether the reader may not read the repository, existing or not. */
  denied: Type.Optional(Type.Boolean()),
})

/** A request for a page of a repository. */
export type ReadRecord = Readonly<Static<typeof readRecordSchema>>

/** Returns a record with the version that its path is in. */
export function withVersion(record: ReadRecord, repos: ReadonlyMap<string, Repo>): ReadRecord {
  const [, first = ''] = record.path.split('/')
  const { versions = [], latest } = repos.get(record.repo) ?? {}
  return first !== '' && (first === latest || versions.includes(first))
    ? { ...record, version: first }
    : record
}
