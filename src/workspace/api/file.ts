import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { FileEntry } from '../files/entry.ts'
import { fault } from '../errors.ts'
import { decodePath, encodedPath, shownPath } from '../path-text.ts'
import type { FileChange } from '../files/watch.ts'
import { STRICT } from './parameters.ts'

const pathSchema = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const encodedSchema = (name: string) =>
  pathSchema(`percent-encoded bytes, in place of ${name}: for names that are not UTF-8`)
/** The fields that select a file, of which one is required. */
const PATH = {
  path: pathSchema('absolute, or relative to /workspace; this or path_encoded is required'),
  path_encoded: encodedSchema('path'),
}
/** The same of an answer, which has the encoded form only for a name that is not UTF-8. */
const answeredSchema = (name: string) =>
  Type.Optional(Type.String({ description: `percent-encoded bytes; only if ${name} is not UTF-8` }))
const countSchema = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 50, description }))

/** Query that selects a file. */
export const fileQuerySchema = Type.Object(PATH, STRICT)

/**
 * Returns the path that a request gives in one of two fields, as `path-text.ts` describes it.
 *
 * @throws INVALID_REQUEST unless exactly one is given
 */
export function pathFromWire(path: string | undefined, encoded: string | undefined, field = 'path'): string {
  if (path !== undefined && encoded === undefined) return path
  if (encoded !== undefined && path === undefined) return decodePath(encoded)
  throw fault('INVALID_REQUEST', `either ${field} or ${field}_encoded is required, and only one of them`)
}

/** Encodes a path: for people, and exactly if that loses bytes. */
export function pathToWire(path: string): { readonly path: string; readonly path_encoded?: string } {
  const encoded = encodedPath(path)
  return { path: shownPath(path), ...(encoded !== undefined && { path_encoded: encoded }) }
}

/** Query for a file's content. */
export const readQuerySchema = Type.Object(
  {
    ...PATH,
    offset: countSchema('first byte; default 0'),
    length: countSchema('number of bytes; default up to the end'),
  },
  STRICT,
)

/** Query for writing a file. */
export const writeQuerySchema = Type.Object(
  {
    ...PATH,
    mode: Type.Optional(
      Type.String({
        pattern: '^[0-7]{3,4}$',
        description: 'permissions in octal; default those of the existing file, else of a new one',
      }),
    ),
    create_parents: Type.Optional(Type.Boolean({ description: 'create missing directories; default false' })),
  },
  STRICT,
)

/** Query for extracting an archive. */
export const extractQuerySchema = Type.Object(
  {
    ...PATH,
    create_parents: Type.Optional(
      Type.Boolean({ description: 'create the directory and missing ones above it; default false' }),
    ),
  },
  STRICT,
)

/** Query for watching a directory. */
export const watchQuerySchema = Type.Object(
  {
    ...PATH,
    recursive: Type.Optional(Type.Boolean({ description: 'watch directories in it as well; default false' })),
  },
  STRICT,
)

/** A change below a watched directory. */
export const fileChangeSchema = Type.Object({
  type: Type.Enum(['create', 'write', 'remove', 'rename', 'chmod'], {
    description: 'rename: the old path of a file that has a new one, which is then created',
  }),
  path: Type.String({ description: 'relative to the directory' }),
  path_encoded: answeredSchema('path'),
})

/** Encodes a change below a watched directory. */
export function fileChangeToWire({ kind, path }: FileChange): Static<typeof fileChangeSchema> {
  return { type: kind, ...pathToWire(path) }
}

/** Query for removing a file: a misspelled parameter must not remove more. */
export const removeFileQuerySchema = Type.Object(
  {
    ...PATH,
    recursive: Type.Optional(
      Type.Boolean({ description: 'remove a directory with its content; default false' }),
    ),
  },
  STRICT,
)

/** Body of a request that creates a directory. */
export const directoryBodySchema = Type.Object(PATH, STRICT)

/** Body of a request that moves a file. */
export const moveBodySchema = Type.Object(
  {
    from: pathSchema('this or from_encoded is required'),
    from_encoded: encodedSchema('from'),
    to: pathSchema('this or to_encoded is required'),
    to_encoded: encodedSchema('to'),
    overwrite: Type.Optional(Type.Boolean({ description: 'replace an existing file; default false' })),
  },
  STRICT,
)

/** A file of a workspace. */
export const fileSchema = Type.Object(
  {
    name: Type.String(),
    name_encoded: answeredSchema('name'),
    type: Type.Enum(['file', 'directory', 'link', 'other'], { description: 'link: a symbolic link' }),
    bytes: Type.Integer(),
    mode: Type.String({ description: 'permissions in octal' }),
    uid: Type.Integer(),
    gid: Type.Integer(),
    modified_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'File' },
)
/** Response of listing a directory. */
export const fileListSchema = Type.Object({
  path: Type.String(),
  path_encoded: answeredSchema('path'),
  files: Type.Array(Type.Ref('File')),
})

/** A file as clients see it. */
export type WireFile = Static<typeof fileSchema>

/** Encodes a file. */
export function fileToWire({ name, kind, bytes, mode, userId, groupId, modifiedAt }: FileEntry): WireFile {
  const encoded = encodedPath(name)
  return {
    name: shownPath(name),
    ...(encoded !== undefined && { name_encoded: encoded }),
    type: kind,
    bytes,
    mode: mode.toString(8).padStart(3, '0'),
    uid: userId,
    gid: groupId,
    modified_at: modifiedAt.toISOString(),
  }
}
