import type { Static } from 'typebox'
import { Type } from '../../../../lib/schema/type.ts'
import { fits } from '../../../../lib/schema/parse-json.ts'
import { type RecordReading, readRecord } from './record-files.ts'
import { machineFacts, memorySchema, type Metadata } from './metadata.ts'
import { CHECKPOINT_REASONS, type CheckpointReason } from '../../checkpoint.ts'

const schema = Type.Object({
  version: Type.Literal(1),
  name: Type.String({ minLength: 1 }),
  sourceWorkspace: Type.String({ minLength: 1 }),
  createdAt: Type.String({ minLength: 1 }),
  comment: Type.String(),
  ...machineFacts,
  /** Memory of a copy for forks; absent or null for none. */
  memory: Type.Optional(Type.Union([memorySchema, Type.Null()])),
  /** Why a checkpoint was taken; absent for other copies. */
  reason: Type.Optional(Type.Enum(CHECKPOINT_REASONS)),
})

/** A snapshot's record, in `snapshots/NAME/snapshot.json`, which is written last. */
export type SnapshotRecord = Static<typeof schema>

const isRecord = (value: unknown): value is SnapshotRecord => fits(schema, value)

/** Result of reading a snapshot's record. */
export type SnapshotReading = RecordReading<SnapshotRecord>

/** Reads a snapshot's record. @param key the directory's name */
export function readSnapshotRecord(path: string, key: string): Promise<SnapshotReading> {
  return readRecord(path, key, isRecord)
}

/** Properties of a copy that its source does not determine. */
export interface SnapshotFacts {
  readonly name: string
  readonly createdAt: Date
  readonly comment: string
  readonly reason?: CheckpointReason
}

/** Returns the record of a copy of a VM's disk. */
export function recordOf(
  metadata: Metadata,
  { name, createdAt, comment, reason }: SnapshotFacts,
): SnapshotRecord {
  const { image, digest, repo, forwardPorts, environment, cpus, memoryMb, upperBytes, isFormatted } = metadata
  return {
    version: 1,
    name,
    sourceWorkspace: metadata.name,
    createdAt: createdAt.toISOString(),
    comment,
    image,
    digest,
    repo,
    forwardPorts,
    environment,
    cpus,
    memoryMb,
    upperBytes,
    isFormatted,
    ...(reason !== undefined && { reason }),
  }
}
