import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import { labelsSchema } from '../labels.ts'
import type { Template } from '../lifecycle/template.ts'
import { EXPIRE_ACTIONS } from '../workspace-settings.ts'
import {
  idleToWire,
  planToWire,
  scheduleToWire,
  wireIdleSchema,
  wirePlanSchema,
  wireScheduleSchema,
} from './settings.ts'
import { limitsToWire, networkLimitsSchema } from '../network/narrow.ts'

const optionalString = Type.Optional(Type.String())

/** A template as clients see it; values it leaves open are absent. */
export const templateSchema = Type.Object({
  name: Type.String(),
  description: optionalString,
  repo: optionalString,
  image: optionalString,
  backend: Type.Optional(Type.Enum(BACKEND_NAMES)),
  cpus: Type.Optional(Type.Integer()),
  memory_mb: Type.Optional(Type.Integer()),
  upper_size_bytes: Type.Optional(Type.Integer()),
  from_snapshot: optionalString,
  no_provision: Type.Optional(Type.Boolean()),
  dotfiles: optionalString,
  wake: Type.Optional(Type.Boolean()),
  network: Type.Optional(networkLimitsSchema),
  labels: Type.Optional(labelsSchema),
  idle: Type.Optional(wireIdleSchema),
  checkpoints: Type.Optional(wirePlanSchema),
  ttl_s: Type.Optional(Type.Integer()),
  expire_action: Type.Optional(Type.Enum(EXPIRE_ACTIONS)),
  schedule: Type.Optional(wireScheduleSchema),
  devcontainer: Type.Optional(
    Type.Boolean({
      description: 'true if it has a devcontainer.json, which may hold secrets and is not shown',
    }),
  ),
})

/** Wire format of a template. */
export type WireTemplate = Static<typeof templateSchema>

/** Encodes a template. */
export function templateToWire({
  memoryMb,
  upperBytes,
  fromSnapshot,
  noProvision,
  networkLimits,
  devContainer,
  idle,
  checkpoints,
  ttlMs,
  expireAction,
  schedule,
  ...same
}: Template): WireTemplate {
  // The serializer omits undefined values.
  return {
    ...same,
    memory_mb: memoryMb,
    upper_size_bytes: upperBytes,
    from_snapshot: fromSnapshot,
    no_provision: noProvision,
    idle: idle && idleToWire(idle),
    checkpoints: checkpoints && planToWire(checkpoints),
    ttl_s: ttlMs === undefined ? undefined : Math.ceil(ttlMs / 1_000),
    expire_action: expireAction,
    schedule: schedule && scheduleToWire(schedule),
    network: networkLimits && limitsToWire(networkLimits),
    devcontainer: devContainer === undefined ? undefined : true,
  } as WireTemplate
}
