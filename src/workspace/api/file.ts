import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { FileEntry } from '../files/entry.ts'
import type { FileChange } from '../files/watch.ts'
import { STRICT } from './parameters.ts'

const pathSchema = Type.String({ minLength: 1, description: 'absolute, or relative to /workspace' })
const countSchema = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 50, description }))

/** Query that selects a file. */
export const fileQuerySchema = Type.Object({ path: pathSchema }, STRICT)

/** Query for a file's content. */
export const readQuerySchema = Type.Object(
  {
    path: pathSchema,
    offset: countSchema('first byte; default 0'),
    length: countSchema('number of bytes; default up to the end'),
  },
  STRICT,
)

/** Query for writing a file. */
export const writeQuerySchema = Type.Object(
  {
    path: pathSchema,
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
    path: pathSchema,
    create_parents: Type.Optional(
      Type.Boolean({ description: 'create the directory and missing ones above it; default false' }),
    ),
  },
  STRICT,
)

/** Query for watching a directory. */
export const watchQuerySchema = Type.Object(
  {
    path: pathSchema,
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
})

/** Encodes a change below a watched directory. */
export function fileChangeToWire({ kind, path }: FileChange): Static<typeof fileChangeSchema> {
  return { type: kind, path }
}

/** Query for removing a file: a misspelled parameter must not remove more. */
export const removeFileQuerySchema = Type.Object(
  {
    path: pathSchema,
    recursive: Type.Optional(
      Type.Boolean({ description: 'remove a directory with its content; default false' }),
    ),
  },
  STRICT,
)

/** Body of a request that creates a directory. */
export const directoryBodySchema = Type.Object({ path: pathSchema }, STRICT)

/** Body of a request that moves a file. */
export const moveBodySchema = Type.Object(
  {
    from: pathSchema,
    to: pathSchema,
    overwrite: Type.Optional(Type.Boolean({ description: 'replace an existing file; default false' })),
  },
  STRICT,
)

/** A file of a workspace. */
export const fileSchema = Type.Object(
  {
    name: Type.String(),
    type: Type.Enum(['file', 'directory', 'link', 'other'], { description: 'link: a symbolic link' }),
    bytes: Type.Integer(),
    mode: Type.String({ description: 'permissions in octal' }),
    uid: Type.Integer(),
    gid: Type.Integer(),
    modified_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'File' },
)
/** A file as clients see it. */
export type WireFile = Static<typeof fileSchema>

/** Encodes a file. */
export function fileToWire({ name, kind, bytes, mode, userId, groupId, modifiedAt }: FileEntry): WireFile {
  return {
    name,
    type: kind,
    bytes,
    mode: mode.toString(8).padStart(3, '0'),
    uid: userId,
    gid: groupId,
    modified_at: modifiedAt.toISOString(),
  }
}
