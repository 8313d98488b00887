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
    aliases: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** End of each version that expires, RFC 3339. */
    expires: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { $id: 'Repo' },
)

/** Query for the versions of a repository. */
export const versionsQuerySchema = Type.Object({
  repo: Type.Optional(
    Type.String({ description: "name of the repository; on its separate host, that host's by default" }),
  ),
})

/** Schema of the versions of a repository. */
export const versionsSchema = Type.Object({
  repo: Type.String(),
  latest: Type.Optional(Type.String()),
  versions: Type.Array(
    Type.Object({
      version: Type.String(),
      aliases: Type.Array(Type.String()),
      expires: Type.Optional(Type.String()),
      url: Type.String(),
    }),
  ),
})
