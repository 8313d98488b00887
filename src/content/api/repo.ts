import { Type } from '../../lib/schema/type.ts'

/** Schema of a repository in the API. */
export const repoSchema = Type.Object(
  {
    name: Type.String(),
    description: Type.Optional(Type.String()),
    last_published: Type.Optional(Type.String()),
    repo: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
    versions: Type.Optional(Type.Array(Type.String())),
    latest: Type.Optional(Type.String()),
  },
  { $id: 'Repo' },
)
