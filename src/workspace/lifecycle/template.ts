import { configFault } from '../../lib/config/check.ts'
import type { Decoded } from '../../lib/config/decode.ts'
import { named, optionalDuration, optionalSection, optionalText } from '../../lib/config/fields.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { Type } from '../../lib/schema/type.ts'
import { BACKEND_NAMES, type BackendName } from '../backend-name.ts'
import { type DevContainer, parseDevContainer } from '../devcontainer/dev-container.ts'
import { fault } from '../errors.ts'
import { parseImage } from '../image-reference.ts'
import { labelsSchema, parseLabels, type WorkspaceLabels } from '../labels.ts'
import { isWorkspaceName, NAME_RULE } from '../name.ts'
import {
  limitsToWire,
  narrowed,
  type NetworkLimits,
  networkLimitsSchema,
  parseNetworkLimits,
  type WireNetworkLimits,
} from '../network/narrow.ts'
import { parseEgress } from '../network/policy.ts'
import type { NetworkReach } from '../network/narrow.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import { changedSchedule, type Schedule, scheduleFields } from '../schedule.ts'
import { EXPIRE_ACTIONS, MAX_CHECKPOINTS_KEPT } from '../workspace-settings.ts'
import { parseRepo } from './repo.ts'
import { withResolvedImage } from './resolve-image.ts'

const templateSchema = Type.Object(
  {
    description: optionalText('sentence for people who choose a template'),
    repo: optionalText('repository to clone; must not contain a password'),
    image: optionalText('image or alias'),
    backend: Type.Optional(Type.Enum(BACKEND_NAMES, { description: 'backend' })),
    cpus: Type.Optional(Type.Integer({ minimum: 0, maximum: 512, description: 'number of CPUs' })),
    memory_mb: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 16_777_216, description: 'memory, in MiB' }),
    ),
    upper_size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'disk size of a VM, in GB' }),
    ),
    from_snapshot: optionalText('snapshot to copy the disk from; excludes repo, image and upper_size'),
    no_provision: Type.Optional(Type.Boolean({ description: 'ignore devcontainer.json and dotfiles' })),
    dotfiles: optionalText('repository with dotfiles; must not contain a password'),
    wake: Type.Optional(
      Type.Boolean({ description: 'start the workspace when somebody connects; default: idle.wake' }),
    ),
    idle: optionalSection({
      stop_after: optionalDuration('stop it after this idle time; 0s: never; default: idle_timeout'),
      suspend_after: optionalDuration(
        'suspend it after this idle time; 0s: never; default: idle.suspend_after',
      ),
    }),
    checkpoints: optionalSection({
      every: optionalDuration('take a checkpoint after this time, while it runs; 0s: never; default: 0s'),
      keep: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_CHECKPOINTS_KEPT, description: 'number kept; default: 10' }),
      ),
      max_age: optionalDuration('delete them at this age; 0s: never; default: 7d'),
    }),
    ttl: optionalDuration('time after its creation at which it expires; 0s: never'),
    expire_action: Type.Optional(
      Type.Enum(EXPIRE_ACTIONS, { description: 'what happens when it expires; default: stop' }),
    ),
    schedule: optionalSection(scheduleFields),
    network: Type.Optional(networkLimitsSchema),
    labels: Type.Optional(labelsSchema),
    devcontainer: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>>>({
        type: 'object',
        description: 'contents of a devcontainer.json, used instead of the files’ own',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Config section `templates`. */
export const templatesSection = named(
  templateSchema,
  'named sets of values for new workspaces; a request that names one overrides single values',
)

type TemplateSettings = Decoded<typeof templateSchema>

/** A named set of values for new workspaces, validated when the server starts. */
export interface Template extends Omit<
  TemplateSettings,
  'devcontainer' | 'network' | 'labels' | 'upperSize' | 'schedule'
> {
  readonly name: string
  readonly upperBytes: number | undefined
  readonly networkLimits: NetworkLimits | undefined
  readonly labels: WorkspaceLabels | undefined
  readonly schedule: Schedule | undefined
  /** Used instead of the devcontainer.json among the workspace's files. */
  readonly devContainer: DevContainer | undefined
}

/** Templates by name. */
export type Templates = ReadonlyMap<string, Template>

/** Settings that templates are validated against. */
interface TemplateContext {
  readonly imageAliases: ReadonlyMap<string, string>
  readonly defaultBackend: BackendName
  readonly reachOf: (backend: BackendName) => NetworkReach
}

/** Resolves the section. @throws CONFIG_INVALID for values that would fail every creation */
export function configuredTemplates(
  section: Readonly<Record<string, TemplateSettings>>,
  context: TemplateContext,
): Templates {
  return new Map(
    Object.entries(section).map(([name, settings]) => {
      try {
        if (!isWorkspaceName(name)) throw new Error(`its name must be ${NAME_RULE}`)
        return [name, templateOf(name, settings, context)]
      } catch (error) {
        throw configFault('CONFIG_INVALID', `"templates.${name}": ${messageOf(error)}`)
      }
    }),
  )
}

function templateOf(
  name: string,
  { devcontainer, network, labels, upperSize, schedule, ...same }: TemplateSettings,
  { imageAliases, defaultBackend, reachOf }: TemplateContext,
): Template {
  const { fromSnapshot, repo, image, dotfiles, backend = defaultBackend } = same
  if (fromSnapshot !== undefined && (repo ?? image ?? upperSize) !== undefined)
    throw new Error('from_snapshot excludes repo, image and upper_size: a snapshot has its own')
  if (image !== undefined) parseImage(image, imageAliases)
  for (const each of [repo, dotfiles])
    if (each !== undefined && parseRepo(each).credentials !== undefined)
      throw new Error('a repository must not contain a user name or password: clients can list templates')
  if (same.expireAction !== undefined && same.ttlMs === undefined) throw new Error('expire_action needs ttl')
  const egress = network?.egress === undefined ? undefined : parseEgress(network.egress)
  return {
    name,
    ...same,
    upperBytes: upperSize === undefined ? undefined : upperSize * 2 ** 30,
    networkLimits: parseNetworkLimits(network && limitsToWire({ ...network, egress }), reachOf(backend)),
    labels: parseLabels(labels),
    schedule: changedSchedule(undefined, schedule),
    devContainer: devcontainer && devContainerOf(devcontainer, imageAliases),
  }
}

function devContainerOf(
  content: Readonly<Record<string, unknown>>,
  imageAliases: ReadonlyMap<string, string>,
): DevContainer {
  const reading = withResolvedImage(parseDevContainer(JSON.stringify(content), WORKSPACE_DIR), imageAliases)
  if (reading.is !== 'found')
    throw new Error(`devcontainer: ${reading.is === 'bad' ? reading.why : 'it is empty'}`)
  const [problem] = reading.config.invalid
  if (problem !== undefined) throw new Error(`devcontainer: ${problem}`)
  return reading.config
}

/** Returns the template of that name; undefined if none is named. @throws TEMPLATE_NOT_FOUND */
export function findTemplate(templates: Templates, name: string | null | undefined): Template | undefined {
  if (name === undefined || name === null || name === '') return undefined
  const template = templates.get(name)
  if (template !== undefined) return template
  const names = [...templates.keys()].join(', ')
  throw fault(
    'TEMPLATE_NOT_FOUND',
    `template ${JSON.stringify(name.slice(0, 80))} does not exist; the server has ${names === '' ? 'no templates' : names}`,
  )
}

/**
 * Parses the network limits of a request, which narrow those of its template.
 *
 * @throws INVALID_REQUEST when the template or the server's policy does not allow them
 */
export function limitsWithin(
  template: Template | undefined,
  wire: WireNetworkLimits | null | undefined,
  reach: NetworkReach,
): NetworkLimits | undefined {
  if (template?.networkLimits === undefined) return parseNetworkLimits(wire, reach)
  // Again, because the request may name another backend.
  const outer = parseNetworkLimits(limitsToWire(template.networkLimits), reach)
  const policy = narrowed(reach.policy, outer)
  const limits = parseNetworkLimits(wire, { ...reach, policy })
  const { egressProfile } = template.networkLimits
  const hasEgress = egressProfile !== undefined || template.networkLimits.egress !== undefined
  if (hasEgress && limits?.egressProfile !== undefined && limits.egressProfile !== egressProfile)
    throw fault(
      'INVALID_REQUEST',
      `network.egress_profile: template "${template.name}" has its own egress; omit it`,
    )
  const { egress, isPublicOnly } = narrowed(policy, limits)
  const combined = {
    ...outer,
    ...limits,
    // With a profile, only none is narrower.
    ...(limits?.egress !== undefined && { egress, egressProfile: undefined }),
  }
  // Limits cannot express it: names of a list can resolve to private addresses.
  if (isPublicOnly === true && narrowed(reach.policy, combined).isPublicOnly !== true)
    throw fault(
      'INVALID_REQUEST',
      `network.egress: it cannot be combined with that of template "${template.name}", because one is internet and the other a list; omit it`,
    )
  return combined
}
