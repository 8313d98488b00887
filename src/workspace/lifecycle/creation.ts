import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { unlessAborted } from '../../lib/process/unless-aborted.ts'
import type { Backend } from '../backend/backend.ts'
import type {
  DevContainer,
  DevContainerReading,
  LifecycleStep,
  Preparation,
} from '../devcontainer/dev-container.ts'
import { readFromInside } from '../devcontainer/read-dev-container.ts'
import { runPreparations } from '../devcontainer/run-preparations.ts'
import type { EgressProxies } from '../egress/egress-proxies.ts'
import { fault } from '../errors.ts'
import { isImageBackend } from '../image/image-backend.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import type { Phase } from '../timeline/phase.ts'
import type { Workspace } from '../workspace.ts'
import { cloneInside, hasFiles, cloneCommand, gitEnvironment } from './clone.ts'
import type { CreateRequest } from './create-request.ts'
import type { ForkGroup } from './fork-group.ts'
import { withResolvedImage } from './resolve-image.ts'
import type { CreationMark, CreationMarks } from './creation-marks.ts'
import type { Repo } from './repo.ts'

/** Opens the egress proxies of workspaces with a profile; does nothing for others. */
export type EgressGate = Pick<EgressProxies, 'attach' | 'environmentOf' | 'foreignEnvironmentOf' | 'observe'>

/** Records on disk that belong to a workspace. */
interface WorkspaceRecords {
  readonly marks: CreationMarks
  readonly settings: SettingsStore
}

interface CreationContext {
  readonly egress: EgressGate
  readonly progress: (message: string) => void
  readonly enterPhase: (phase: Phase) => void
  readonly signal: AbortSignal
  readonly logger: Logger
  readonly imageAliases: ReadonlyMap<string, string>
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
  context: CreationContext,
): Promise<Workspace> {
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
    await recordSettings(records.settings, request, createdAt)
    const { forkGroup } = request
    const created =
      forkGroup === undefined
        ? await createWithFiles(backend, request, createdAt, keepVolume, context)
        : await createFork(backend, request, forkGroup, createdAt, context)
    signal.throwIfAborted()
    await marks.remove(request.name)
    // From here on the workspace is kept even when a preparation fails.
    await prepare(backend, request, created.devContainer?.steps ?? [], context)
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

/** Records the settings that the backend does not keep; removes any that remain of an earlier workspace. */
async function recordSettings(
  settings: SettingsStore,
  request: CreateRequest,
  createdAt: Date,
): Promise<void> {
  const { idle, checkpoints, expiry, schedule, ownership } = request
  if ((idle ?? checkpoints ?? expiry ?? schedule ?? ownership) === undefined)
    return settings.remove(request.name)
  await settings.write({ ...request, createdAt }, request)
}

/** Creates a running workspace with its files. */
async function createWithFiles(
  backend: Backend,
  request: CreateRequest,
  createdAt: Date,
  keepVolume: boolean,
  context: CreationContext,
): Promise<{ readonly workspace: Workspace; readonly devContainer: DevContainer | undefined }> {
  const { progress, signal, egress } = context
  const create = async (devContainer: DevContainer | undefined, image: string, adoptsFiles: boolean) => {
    const created = await backend.create(
      {
        ...request,
        image,
        adoptsFiles,
        createdAt,
        repo: request.repo?.url ?? '',
        environment: {
          ...egress.environmentOf(request.networkLimits?.egressProfile),
          ...devContainer?.environment,
          ...request.environment,
        },
        foreignEnvironment: egress.foreignEnvironmentOf(request.networkLimits?.egressProfile),
        forwardPorts: devContainer?.forwardPorts ?? [],
        enterPhase: context.enterPhase,
      },
      progress,
      signal,
    )
    // Cloning and preparations need it.
    await egress.attach(created)
    return created
  }
  const { content } = request
  const known = acceptSettings(content?.devContainer ?? request.devContainer, request.name, context)
  if (request.localDir !== '')
    return { workspace: await create(known, request.image, false), devContainer: known }
  const workspace = await create(known, request.image, keepVolume)
  if (content !== undefined) {
    progress('unpacking the archive')
    context.enterPhase('clone')
    await content.unpack(backend, request.name, signal)
    return { workspace, devContainer: known }
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
  if (!request.isProvisioned || !mayHaveFile || request.devContainer.is !== 'none')
    return { workspace, devContainer: known }
  const reading = withResolvedImage(await readFromInside(backend, request.name), context.imageAliases)
  const devContainer = acceptSettings(reading, request.name, context)
  // VMs cannot boot a container image.
  const wanted = isImageBackend(backend.name) ? undefined : devContainer?.image
  if (wanted === undefined && devContainer?.image !== undefined)
    progress('devcontainer.json: image is not supported for VMs, which boot from VM images')
  const image = request.isImageGiven ? request.image : (wanted ?? request.image)
  const asItIs =
    image === request.image &&
    (devContainer === undefined ||
      (Object.keys(devContainer.environment).length === 0 && devContainer.forwardPorts.length === 0))
  if (asItIs) return { workspace, devContainer }
  // The image and the environment can be set only when a container is created.
  signal.throwIfAborted()
  await backend.remove(request.name, true)
  return { workspace: await create(devContainer, image, image !== request.image), devContainer }
}

/** Creates a fork from the copy of its source, and waits until its siblings are created as well. */
async function createFork(
  backend: Backend,
  request: CreateRequest,
  group: ForkGroup,
  createdAt: Date,
  { progress, enterPhase, egress, signal: stopped }: CreationContext,
): Promise<{ readonly workspace: Workspace; readonly devContainer: undefined }> {
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
  // A failure is reported and retried; until then a fork with an egress profile reaches nothing.
  await egress.attach(workspace).catch(() => undefined)
  await unlessAborted(group.arrive(), signal)
  return { workspace, devContainer: undefined }
}

/** Returns whether a command belongs to the start rather than the creation. */
const isLate = ({ command }: LifecycleStep): boolean => /^post(Start|Attach)/.test(command)

/**
 * Runs the commands of a devcontainer.json in sequence, with the dotfiles before the start commands. As the
 * specification requires, a failure prevents the remaining commands.
 */
async function prepare(
  backend: Backend,
  { name, dotfiles }: CreateRequest,
  steps: readonly LifecycleStep[],
  context: CreationContext,
): Promise<void> {
  if (steps.length > 0 || dotfiles !== undefined) context.enterPhase('hooks')
  let failed: string | undefined
  const run = async (each: readonly LifecycleStep[]): Promise<void> => {
    for (const { command, programs } of each) {
      if (failed !== undefined) context.progress(`skipping ${command} because ${failed} failed`)
      else if (!(await runPreparations(backend, name, programs, context))) failed = command
    }
  }
  await run(steps.filter((step) => !isLate(step)))
  if (dotfiles !== undefined) await runPreparations(backend, name, [dotfilesPreparation(dotfiles)], context)
  await run(steps.filter(isLate))
}

/** Returns the settings to apply. Unusable ones are reported and do not fail the creation. */
function acceptSettings(
  reading: DevContainerReading,
  name: string,
  { progress, logger }: CreationContext,
): DevContainer | undefined {
  if (reading.is === 'none') return undefined
  if (reading.is === 'found') {
    for (const note of reading.config.notes) progress(`devcontainer.json: ${note}`)
    return reading.config
  }
  progress(`devcontainer.json is unusable: ${reading.why}`)
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

/**
 * The installer names and their order are those of the devcontainer CLI and GitHub Codespaces; as there, dot
 * files are linked when no installer is found.
 */
const INSTALL = `
cd || exit
if [ -e dotfiles ]; then echo "dotfiles: there already, not cloned again"; else "$@" || exit; fi
# It was for the clone alone, and can hold a password.
unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_ALLOW_PROTOCOL GIT_TERMINAL_PROMPT GIT_SSH_COMMAND
cd dotfiles || exit
for script in install.sh install bootstrap.sh bootstrap script/bootstrap setup.sh setup script/setup; do
  [ -f "$script" ] || continue
  [ -x "$script" ] || chmod +x "$script"
  exec "./$script"
done
for file in .[!.]*; do
  case $file in .git|.gitignore|.gitmodules|.gitattributes|.github) continue ;; esac
  if [ -d "$HOME/$file" ] && [ ! -L "$HOME/$file" ]; then
    echo "dotfiles: $HOME/$file is a directory and stays"
  else
    ln -sfn "$PWD/$file" "$HOME/$file" || exit
  fi
done`

/** Returns the preparation that clones a dotfiles repository to `~/dotfiles` and installs it. */
function dotfilesPreparation(repo: Repo): Preparation {
  const argv = ['/bin/sh', '-c', INSTALL, 'sh', ...cloneCommand(repo, 'dotfiles')]
  return { name: 'dotfiles', argv, environment: gitEnvironment(repo) }
}
