import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { messageOf } from '../../lib/errors/message.ts'
import { openSealedJson, sealJson } from '../../lib/fs/sealed-json.ts'
import {
  removeFileDurable,
  removeInterruptedWrites,
  syncDirectory,
  writeFileDurable,
} from '../../lib/fs/write-durable.ts'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import { ACCESS_LEVELS } from '../access-level.ts'
import type { Ownership } from '../ownership.ts'
import type { Workspace } from '../workspace.ts'
import { scheduleRecord, scheduleRecordSchema } from '../schedule.ts'
import { EXPIRE_ACTIONS, type WorkspaceSettings } from '../workspace-settings.ts'

const DIRECTORY = 'settings'
const SUFFIX = '.json'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const msSchema = orNull(Type.Integer({ minimum: 0 }))

const recordSchema = Type.Object(
  {
    version: Type.Literal(1),
    name: Type.String(),
    backend: Type.String(),
    createdAt: Type.String(),
    labels: orNull(Type.Record(Type.String(), Type.String())),
    wakes: orNull(Type.Boolean()),
    stopAfterMs: msSchema,
    suspendAfterMs: msSchema,
    expiry: orNull(
      Type.Object(
        { atMs: Type.Integer({ minimum: 0, maximum: 8.64e15 }), action: Type.Enum([...EXPIRE_ACTIONS]) },
        { additionalProperties: false },
      ),
    ),
    /** Absent for checkpoints on request only. */
    checkpoints: Type.Optional(
      Type.Object({ everyMs: msSchema, keep: msSchema, maxAgeMs: msSchema }, { additionalProperties: false }),
    ),
    /** Absent for the server's. */
    schedule: Type.Optional(scheduleRecordSchema),
    /** Absent on a server without users. */
    ownership: Type.Optional(
      Type.Object(
        {
          owner: Type.Optional(Type.Object({ id: Type.String(), name: Type.String() })),
          shares: Type.Record(Type.String(), Type.Enum([...ACCESS_LEVELS])),
        },
        { additionalProperties: false },
      ),
    ),
    /** Absent if its creation ignored nothing. */
    warnings: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
)

type SettingsRecord = Static<typeof recordSchema>

/** The properties of a workspace that distinguish it from an earlier one with its name. */
type Identity = Pick<Workspace, 'name' | 'backend' | 'createdAt'>

type Reading =
  { readonly is: 'read'; readonly record: SettingsRecord } | { readonly is: 'damaged'; readonly why: string }

/**
 * Settings of workspaces, one file for each in the state directory. A workspace without a file has the settings
 * of its creation, which its backend keeps. A file is bound to one workspace, so that it never applies to a
 * later one of the same name. Nothing acts on a workspace whose file is damaged: it has `settingsError`.
 */
export class SettingsStore {
  readonly #directory: string
  readonly #readings: Map<string, Reading>

  private constructor(directory: string, readings: Map<string, Reading>) {
    this.#directory = directory
    this.#readings = readings
  }

  /** Reads all files. Rejects if the directory cannot be listed: settings must not seem absent. */
  static async open(stateDir: string): Promise<SettingsStore> {
    const directory = join(stateDir, DIRECTORY)
    if ((await mkdir(directory, { recursive: true, mode: 0o700 })) !== undefined)
      await syncDirectory(stateDir)
    await removeInterruptedWrites(directory)
    const readings = new Map<string, Reading>()
    const open = async (file: string): Promise<void> => {
      const key = file.slice(0, -SUFFIX.length)
      if (file.endsWith(SUFFIX) && isWorkspaceName(key) && key === nameKey(key))
        readings.set(key, await read(join(directory, file), key))
    }
    await Promise.all((await readdir(directory)).map(open))
    return new SettingsStore(directory, readings)
  }

  /** Returns the workspace with its settings. */
  complete(workspace: Workspace): Workspace {
    const reading = this.#readings.get(nameKey(workspace.name))
    if (reading?.is === 'damaged') return { ...workspace, settingsError: reading.why }
    if (reading === undefined || !belongsTo(reading.record, workspace)) {
      const { settingsError: _, ...valid } = workspace
      return valid
    }
    return { ...workspace, ...settingsOf(reading.record), settingsError: undefined }
  }

  /** Replaces the settings of a workspace. @throws BACKEND_ERROR when they cannot be written */
  async write(workspace: Identity, settings: WorkspaceSettings): Promise<void> {
    const record = recordOf(workspace, settings)
    const key = nameKey(workspace.name)
    await this.#change(() => writeFileDurable(this.#path(key), sealJson(record), { mode: 0o600 }))
    this.#readings.set(key, { is: 'read', record })
  }

  /**
   * Copies the settings of a workspace to another name of it, where they take effect with the rename.
   *
   * @throws BACKEND_ERROR when they are damaged or cannot be written
   */
  async copy(workspace: Workspace, to: string): Promise<void> {
    const reading = this.#readings.get(nameKey(workspace.name))
    if (reading?.is === 'damaged') throw fault('BACKEND_ERROR', reading.why)
    if (reading !== undefined && belongsTo(reading.record, workspace))
      await this.write({ ...workspace, name: to }, settingsOf(reading.record))
    else await this.remove(to)
  }

  /** Removes the settings of a name, if any. @throws BACKEND_ERROR when that is not possible */
  async remove(name: string): Promise<void> {
    const key = nameKey(name)
    if (!this.#readings.has(key)) return
    await this.#change(() => removeFileDurable(this.#path(key)))
    this.#readings.delete(key)
  }

  async #change(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      throw fault('BACKEND_ERROR', `the state directory cannot be written: ${messageOf(error)}`, error)
    }
  }

  #path(key: string): string {
    return join(this.#directory, `${key}${SUFFIX}`)
  }
}

async function read(path: string, key: string): Promise<Reading> {
  const damaged = (why: string): Reading => ({
    is: 'damaged',
    why: `its settings in ${path} are ${why}; set them again with "workspace set ${key}"`,
  })
  try {
    const content = await readFile(path, 'utf8')
    const record = openSealedJson(recordSchema, content)
    return record !== undefined && nameKey(record.name) === key
      ? { is: 'read', record }
      : damaged('damaged or from a newer version')
  } catch (error) {
    return damaged(`unreadable (${messageOf(error)})`)
  }
}

function belongsTo(record: SettingsRecord, { name, backend, createdAt }: Identity): boolean {
  return (
    record.backend === backend &&
    nameKey(record.name) === nameKey(name) &&
    record.createdAt === createdAt.toISOString()
  )
}

function recordOf(
  { name, backend, createdAt }: Identity,
  { labels, wakes, idle, checkpoints, expiry, schedule, ownership, warnings }: WorkspaceSettings,
): SettingsRecord {
  return {
    version: 1,
    name,
    backend,
    createdAt: createdAt.toISOString(),
    labels: labels === undefined ? null : { ...labels },
    wakes: wakes ?? null,
    stopAfterMs: idle?.stopAfterMs ?? null,
    suspendAfterMs: idle?.suspendAfterMs ?? null,
    expiry: expiry === undefined ? null : { atMs: expiry.at.getTime(), action: expiry.action },
    ...(checkpoints !== undefined && {
      checkpoints: {
        everyMs: checkpoints.everyMs ?? null,
        keep: checkpoints.keep ?? null,
        maxAgeMs: checkpoints.maxAgeMs ?? null,
      },
    }),
    ...(schedule !== undefined && { schedule: scheduleRecord(schedule) }),
    ...(ownership !== undefined && { ownership: ownershipRecord(ownership) }),
    ...(warnings !== undefined && { warnings: [...warnings] }),
  }
}

function ownershipRecord({ owner, shares }: Ownership): NonNullable<SettingsRecord['ownership']> {
  return { ...(owner !== undefined && { owner }), shares: { ...shares } }
}

function settingsOf(record: SettingsRecord): WorkspaceSettings {
  const { labels, wakes, stopAfterMs, suspendAfterMs, checkpoints, expiry, schedule, ownership, warnings } =
    record
  const hasIdle = stopAfterMs !== null || suspendAfterMs !== null
  return {
    labels: labels ?? undefined,
    wakes: wakes ?? undefined,
    idle: hasIdle
      ? { stopAfterMs: stopAfterMs ?? undefined, suspendAfterMs: suspendAfterMs ?? undefined }
      : undefined,
    checkpoints: checkpoints && {
      everyMs: checkpoints.everyMs ?? undefined,
      keep: checkpoints.keep ?? undefined,
      maxAgeMs: checkpoints.maxAgeMs ?? undefined,
    },
    expiry: expiry === null ? undefined : { at: new Date(expiry.atMs), action: expiry.action },
    schedule,
    ownership,
    warnings,
  }
}
