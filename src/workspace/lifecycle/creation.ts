import { ignore } from '../../lib/errors/ignore.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { unlessAborted } from '../../lib/process/unless-aborted.ts'
import type { Backend } from '../backend/backend.ts'
import type { DevContainer, DevContainerReading } from '../devcontainer/dev-container.ts'
import { downloadsInside } from '../devcontainer/download-feature.ts'
import { readFromHost, readFromInside } from '../devcontainer/read-dev-container.ts'
import { fault } from '../errors.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import { WarningList } from './warning-list.ts'
import type { Workspace } from '../workspace.ts'
import { cloneInside, hasFiles } from './clone.ts'
import type { CreateRequest } from './create-request.ts'
import type { ForkGroup } from './fork-group.ts'
import { withResolvedImage } from './resolve-image.ts'
import type { CreationMark, CreationMarks } from './creation-marks.ts'
import { prepareWorkspace } from './prepare-workspace.ts'
import {
  type Created,
  type CreationContext,
  type WarningContext,
  WorkspaceCreator,
} from './workspace-creator.ts'

/** Records on disk that belong to a workspace. */
interface WorkspaceRecords {
  readonly marks: CreationMarks
  readonly settings: SettingsStore
}

/**
 * Creates one workspace, or rolls back. A mark on disk records the creation until it has succeeded. When even
 * the rollback fails the mark stays, and UnfinishedCreation is thrown.
 */
export async function createWorkspace(
  backend: Backend,
  records: WorkspaceRecords,
  request: CreateRequest,
  createdAt: Date,
  given: CreationContext,
): Promise<Workspace> {
  const warnings = new WarningList(given)
  const context = { ...given, warn: (message: string) => warnings.add(message) }
  const { signal, logger } = context
  const { marks } = records
  const earlier = await marks.find(request.name)
  if (earlier !== undefined) await undoCreation(backend, records, earlier)
  const keepVolume = request.localDir === '' && (await backend.hasVolume(request.name))
  const hasFilesAlready = request.fromSnapshot !== '' || (request.content ?? request.forkGroup) !== undefined
  if (keepVolume && hasFilesAlready)
    throw fault(
      'INVALID_REQUEST',
      `files of an earlier workspace "${request.name}" are kept; choose another name, or create and delete that workspace first`,
    )
  const mark: CreationMark = { name: request.name, backend: backend.name, keepVolume }
  try {
    await marks.add(mark)
  } catch (error) {
    throw fault('BACKEND_ERROR', `the state directory cannot be written: ${messageOf(error)}`, error)
  }
  try {
    await recordSettings(records.settings, request, createdAt, undefined)
    const { forkGroup } = request
    const created =
      forkGroup === undefined
        ? await createWithFiles(backend, request, createdAt, keepVolume, context)
        : await createFork(backend, request, forkGroup, createdAt, context)
    signal.throwIfAborted()
    const known = warnings.texts
    if (known !== undefined) await recordSettings(records.settings, request, createdAt, known)
    await marks.remove(request.name)
    // From here on the workspace is kept even when a preparation fails.
    await prepareWorkspace(backend, request, created.devContainer, context)
    await keepNewWarnings(records.settings, request, createdAt, { known, all: warnings.texts, logger })
    return created.workspace
  } catch (error) {
    const failure = isFault(error) ? error : fault('BACKEND_ERROR', messageOf(error), error)
    try {
      await undoCreation(backend, records, mark)
    } catch (undoError) {
      logger.error(
        { err: undoError, workspace: request.name },
        'rolling back a failed creation did not succeed',
      )
      throw new UnfinishedCreation(failure.message, { cause: failure })
    }
    throw failure
  }
}

/** Records what the backend does not keep; removes any record that remains of an earlier workspace. */
async function recordSettings(
  settings: SettingsStore,
  request: CreateRequest,
  createdAt: Date,
  warnings: readonly string[] | undefined,
): Promise<void> {
  const { idle, checkpoints, expiry, schedule, ownership } = request
  if ((idle ?? checkpoints ?? expiry ?? schedule ?? ownership ?? warnings) === undefined)
    return settings.remove(request.name)
  await settings.write({ ...request, createdAt }, { ...request, warnings })
}

/** Records warnings of the preparations. The workspace is complete, so a failure is logged. */
async function keepNewWarnings(
  settings: SettingsStore,
  request: CreateRequest,
  createdAt: Date,
  {
    known,
    all,
    logger,
  }: {
    readonly known: readonly string[] | undefined
    readonly all: readonly string[] | undefined
    readonly logger: Logger
  },
): Promise<void> {
  if (all?.length === known?.length) return
  try {
    await recordSettings(settings, request, createdAt, all)
  } catch (error) {
    logger.warn({ err: error, workspace: request.name }, 'warnings of a creation cannot be recorded')
  }
}

/** Creates a running workspace with its files. */
async function createWithFiles(
  backend: Backend,
  request: CreateRequest,
  createdAt: Date,
  keepVolume: boolean,
  context: WarningContext,
): Promise<Created> {
  const { progress, signal } = context
  const creator = new WorkspaceCreator(backend, request, createdAt, context)
  const { content } = request
  const known = acceptSettings(content?.devContainer ?? request.devContainer, request.name, context)
  const download = downloadsInside(backend, request.name, context)
  if (request.localDir !== '') {
    const image = await creator.makeImage(creator.wantedImage(known))
    const created = await creator.create(known, image, false)
    if (!hasArchives(known)) return created
    const reading = await readFromHost(request.localDir, download)
    const complete = acceptSettings(withResolvedImage(reading, context.imageAliases), request.name, context)
    // The environment can be set only when a container is created.
    signal.throwIfAborted()
    await backend.remove(request.name, true)
    return creator.create(complete, image, false)
  }
  const given = { name: request.image, isBuilt: false }
  const created = await creator.create(known, given, keepVolume)
  if (content !== undefined) {
    progress('unpacking the archive')
    context.enterPhase('clone')
    await content.unpack(backend, request.name, signal)
    return created
  }
  let mayHaveFile = keepVolume
  if (keepVolume) progress('using the files of an earlier workspace with this name')
  if (request.repo !== undefined) {
    if (keepVolume && (await hasFiles(backend, request.name)))
      progress('the workspace already has files; not cloning')
    else {
      progress(`cloning ${request.repo.url}`)
      context.enterPhase('clone')
      mayHaveFile = await cloneInside(backend, request.name, request.repo, progress, signal)
    }
  }
  if (!request.isProvisioned || !mayHaveFile || request.devContainer.is !== 'none') return created
  const reading = withResolvedImage(
    await readFromInside(backend, request.name, download),
    context.imageAliases,
  )
  const devContainer = acceptSettings(reading, request.name, context)
  const wanted = creator.wantedImage(devContainer)
  const asItIs =
    wanted.build === undefined &&
    wanted.name === request.image &&
    (devContainer === undefined ||
      (!hasVariables(devContainer) &&
        devContainer.user === undefined &&
        devContainer.forwardPorts.length === 0))
  if (asItIs) return { workspace: created.workspace, devContainer }
  // The image and the environment can be set only when a container is created.
  signal.throwIfAborted()
  await backend.remove(request.name, true)
  const image = await creator.makeImage(wanted)
  return creator.create(devContainer, image, image.name !== request.image || devContainer?.user !== undefined)
}

function hasArchives(devContainer: DevContainer | undefined): boolean {
  return devContainer?.featureReferences.some(({ isArchive }) => isArchive) ?? false
}

function hasVariables({ environment, remoteEnvironment, featureEnvironment }: DevContainer): boolean {
  return Object.keys({ ...environment, ...remoteEnvironment, ...featureEnvironment }).length > 0
}

/** Creates a fork from the copy of its source, and waits until its siblings are created as well. */
async function createFork(
  backend: Backend,
  request: CreateRequest,
  group: ForkGroup,
  createdAt: Date,
  { progress, enterPhase, egress, signal: stopped }: CreationContext,
): Promise<Created> {
  const { source } = group
  const signal = AbortSignal.any([stopped, group.signal])
  const { id: origin } = await unlessAborted(group.origin, signal)
  const workspace = await backend.create(
    {
      ...request,
      createdAt,
      enterPhase,
      repo: source.repo,
      forwardPorts: source.forwardPorts,
      environment: {},
      adoptsFiles: false,
      fork: { origin, from: source.name },
    },
    progress,
    signal,
  )
  // Until then, a fork with an egress profile reaches nothing.
  await egress.attach(workspace).catch(ignore('the gate reports and retries it'))
  await unlessAborted(group.arrive(), signal)
  return { workspace, devContainer: undefined }
}

/** Returns the settings to apply. Unusable ones are reported and do not fail the creation. */
function acceptSettings(
  reading: DevContainerReading,
  name: string,
  { warn, logger }: WarningContext,
): DevContainer | undefined {
  if (reading.is === 'none') return undefined
  if (reading.is === 'found') {
    const { invalid, notes } = reading.config
    for (const each of [...invalid, ...notes]) warn(`devcontainer.json: ${each}`)
    return reading.config
  }
  warn(`devcontainer.json is unusable: ${reading.why}`)
  logger.warn({ workspace: name, why: reading.why }, 'devcontainer.json is unusable')
  return undefined
}

/** A failed creation whose remains still exist; the mark on disk describes what to remove. */
export class UnfinishedCreation extends Error {}

/** Removes the remains of an unfinished creation, but never a volume that existed before it. */
export async function undoCreation(
  backend: Backend,
  { marks, settings }: WorkspaceRecords,
  mark: CreationMark,
): Promise<void> {
  await backend.remove(mark.name, mark.keepVolume)
  await settings.remove(mark.name)
  await marks.remove(mark.name)
}
