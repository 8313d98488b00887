import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { WORKSPACE_CODES } from '../errors.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import { nameSchema, STRICT } from './parameters.ts'
import { labelsSchema } from '../labels.ts'
import { networkLimitsSchema } from '../network/narrow.ts'
import type { CreateInput } from '../lifecycle/create-request.ts'
import { orNull, settingsFields, settingsFromWire } from './settings.ts'

/** Request body for creating a workspace. */
export const createBodySchema = Type.Object(
  {
    name: nameSchema,
    template: orNull(
      Type.String({ description: 'template of the server; values of this request take precedence' }),
    ),
    repo: orNull(Type.String({ description: 'owner/repo (GitHub) or an https, http, ssh or git URL' })),
    image: orNull(Type.String({ description: 'Docker image or alias; default from the configuration' })),
    backend: orNull(
      Type.Enum(BACKEND_NAMES, { description: 'an enabled backend; default from the configuration' }),
    ),
    local_dir: orNull(
      Type.String({
        pattern: '^(?:/|$)',
        description: 'an absolute path on the host to mount as the workspace; excludes repo',
      }),
    ),
    cpus: orNull(Type.Integer({ minimum: 0, maximum: 512, description: 'number of CPUs; 0 for no limit' })),
    memory_mb: orNull(
      Type.Integer({ minimum: 0, maximum: 16_777_216, description: 'memory in MiB; 0 for no limit' }),
    ),
    upper_size_bytes: orNull(
      Type.Integer({
        minimum: 2 ** 30,
        maximum: 100 * 2 ** 30,
        description: "size of a virtual machine's writable disk, 1 to 100 GiB; default upper_size_default",
      }),
    ),
    from_snapshot: orNull(
      Type.String({
        description: 'snapshot to create it from; excludes repo, image, local_dir, upper_size_bytes',
      }),
    ),
    no_provision: orNull(Type.Boolean({ description: 'true ignores devcontainer.json and dotfiles' })),
    network: orNull(networkLimitsSchema),
    dotfiles: orNull(Type.String({ description: 'repository with dotfiles for the home directory' })),
    labels: orNull(labelsSchema),
    ...settingsFields,
  },
  STRICT,
)

/** Error codes for body fields that are missing or have the wrong type. */
export const CODE_OF_FIELD: ReadonlyMap<string, keyof typeof WORKSPACE_CODES> = new Map([
  ['name', 'INVALID_WORKSPACE_NAME'],
  ['repo', 'INVALID_REPO_URL'],
  ['dotfiles', 'INVALID_REPO_URL'],
  ['local_dir', 'INVALID_LOCAL_DIR'],
] as const)

/** Decodes the request body. */
export function createFromWire(body: Static<typeof createBodySchema>): CreateInput {
  const { name, template, repo, image, backend, cpus, network, dotfiles } = body
  const { local_dir, memory_mb, upper_size_bytes, from_snapshot, no_provision } = body
  return {
    name,
    template,
    repo,
    image,
    backend,
    cpus,
    network,
    dotfiles,
    ...settingsFromWire(body),
    localDir: local_dir,
    memoryMb: memory_mb,
    upperSize: upper_size_bytes,
    fromSnapshot: from_snapshot,
    noProvision: no_provision,
  }
}
