import type { Static } from 'typebox'
import { Type } from '../../../../lib/schema/type.ts'

const text = Type.Optional(Type.String())
const texts = Type.Optional(Type.Record(Type.String(), Type.String()))

/** Metadata of every object. Source: Kubernetes API, ObjectMeta. */
export const metadataSchema = Type.Object({
  name: Type.String(),
  uid: Type.String(),
  resourceVersion: Type.String(),
  labels: texts,
  annotations: texts,
  creationTimestamp: text,
  deletionTimestamp: text,
})

/** An object of which only the metadata is used. */
export const anySchema = Type.Object({ metadata: metadataSchema })

/** A ConfigMap. */
export const configMapSchema = Type.Object({ metadata: metadataSchema, data: texts })
/** A ConfigMap. */
export type ConfigMap = Static<typeof configMapSchema>

/** A Secret, with values in base64. */
export const secretSchema = Type.Object({ metadata: metadataSchema, data: texts })

/** A PersistentVolumeClaim. */
export const claimSchema = Type.Object({
  metadata: metadataSchema,
  status: Type.Optional(
    Type.Object({ phase: text, capacity: Type.Optional(Type.Object({ storage: text })) }),
  ),
})
/** A PersistentVolumeClaim. */
export type Claim = Static<typeof claimSchema>

const reasonSchema = Type.Object({ reason: text, message: text })
const containerStatusSchema = Type.Object({
  name: Type.String(),
  restartCount: Type.Optional(Type.Integer()),
  state: Type.Optional(
    Type.Object({
      waiting: Type.Optional(reasonSchema),
      running: Type.Optional(Type.Object({})),
      terminated: Type.Optional(
        Type.Object({ exitCode: Type.Optional(Type.Integer()), reason: text, message: text }),
      ),
    }),
  ),
})
/** State of a pod's container. */
export type ContainerStatus = Static<typeof containerStatusSchema>

/** A Pod. */
export const podSchema = Type.Object({
  metadata: metadataSchema,
  status: Type.Optional(
    Type.Object({
      phase: text,
      podIP: text,
      reason: text,
      message: text,
      startTime: text,
      conditions: Type.Optional(
        Type.Array(Type.Object({ type: Type.String(), status: Type.String(), reason: text, message: text })),
      ),
      initContainerStatuses: Type.Optional(Type.Array(containerStatusSchema)),
      containerStatuses: Type.Optional(Type.Array(containerStatusSchema)),
    }),
  ),
})
/** A Pod. */
export type Pod = Static<typeof podSchema>

/** An Event of the cluster. */
export const eventSchema = Type.Object({ metadata: metadataSchema, type: text, reason: text, message: text })
