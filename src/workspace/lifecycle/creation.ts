import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import type {
  DevContainer,
  DevContainerReading,
  LifecycleStep,
  Preparation,
} from '../devcontainer/dev-container.ts'
import { readFromInside } from '../devcontainer/read-dev-container.ts'
import { runPreparations } from '../devcontainer/run-preparations.ts'
import { fault } from '../errors.ts'
import { isImageBackend } from '../image/image-backend.ts'
import type { Workspace } from '../workspace.ts'
import { cloneInside, hasFiles, cloneCommand, gitEnvironment } from './clone.ts'
import type { CreateRequest } from './create-request.ts'
import { withKnownImage } from './known-image.ts'
import type { CreationMark, CreationMarks } from './creation-marks.ts'
import type { Repo } from './repo.ts'

interface CreationContext {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
  readonly logger: Logger
  readonly imageAliases: ReadonlyMap<string, string>
}

/**
 * Makes one workspace, or undoes whatever it had made. Until it has succeeded, a mark on disk says so. When even the
 * undoing fails the mark stays, and `message` of the thrown fault says that remains are left.
 */
export async function createWorkspace(
  backend: Backend,
  marks: CreationMarks,
  request: CreateRequest,
  createdAt: Date,
  context: CreationContext,
): Promise<Workspace> {
  const { signal, logger } = context
  const earlier = await marks.find(request.name)
  if (earlier !== undefined) await undoCreation(backend, marks, earlier)
  const keepVolume = request.localDir === '' && (await backend.hasVolume(request.name))
  if (keepVolume && request.fromSnapshot !== '')
    throw fault(
      'INVALID_REQUEST',
      `files of an earlier workspace "${request.name}" are kept: take another name, or make and delete it first`,
    )
  const mark: CreationMark = { name: request.name, backend: backend.name, keepVolume }
  try {
    await marks.add(mark)
  } catch (error) {
    throw fault('BACKEND_ERROR', `the state directory cannot be written: ${messageOf(error)}`, error)
  }
  try {
    const made = await makeWithFiles(backend, request, createdAt, keepVolume, context)
    signal.throwIfAborted()
    await marks.remove(request.name)
    // From here on it stays, whatever comes.
    await prepare(backend, request, made.devContainer?.steps ?? [], context)
    return made.workspace
  } catch (error) {
    const failure = isFault(error) ? error : fault('BACKEND_ERROR', messageOf(error), error)
    try {
      await undoCreation(backend, marks, mark)
    } catch (undoError) {
      logger.error({ err: undoError, workspace: request.name }, 'a failed creation could not be undone yet')
      throw new UnfinishedCreation(failure.message, { cause: failure })
    }
    throw failure
  }
}

/** Everything up to a running workspace with its files in it. */
async function makeWithFiles(
  backend: Backend,
  request: CreateRequest,
  createdAt: Date,
  keepVolume: boolean,
  context: CreationContext,
): Promise<{ readonly workspace: Workspace; readonly devContainer: DevContainer | undefined }> {
  const { progress, signal } = context
  const create = (devContainer: DevContainer | undefined, image: string, adoptsFiles: boolean) =>
    backend.create(
      {
        ...request,
        image,
        adoptsFiles,
        createdAt,
        repo: request.repo?.url ?? '',
        environment: devContainer?.environment ?? {},
        forwardPorts: devContainer?.forwardPorts ?? [],
      },
      progress,
      signal,
    )
  if (request.localDir !== '') {
    const devContainer = heed(request.devContainer, request.name, context)
    return { workspace: await create(devContainer, request.image, false), devContainer }
  }
  const workspace = await create(undefined, request.image, keepVolume)
  let mayHaveFile = keepVolume
  if (keepVolume) progress('the files of an earlier workspace of this name are taken over')
  if (request.repo !== undefined) {
    if (keepVolume && (await hasFiles(backend, request.name)))
      progress('its files are there: nothing is cloned')
    else {
      progress(`cloning ${request.repo.url}`)
      mayHaveFile = await cloneInside(backend, request.name, request.repo, progress, signal)
    }
  }
  if (!request.isProvisioned || !mayHaveFile) return { workspace, devContainer: undefined }
  const reading = withKnownImage(await readFromInside(backend, request.name), context.imageAliases)
  const devContainer = heed(reading, request.name, context)
  // A container's image is none that a virtual machine could boot.
  const wanted = isImageBackend(backend.name) ? undefined : devContainer?.image
  if (wanted === undefined && devContainer?.image !== undefined)
    progress(
      'devcontainer.json: image is not honored by virtual machines, which boot from images of their own',
    )
  const image = request.isImageGiven ? request.image : (wanted ?? request.image)
  const asItIs =
    image === request.image &&
    (devContainer === undefined ||
      (Object.keys(devContainer.environment).length === 0 && devContainer.forwardPorts.length === 0))
  if (asItIs) return { workspace, devContainer }
  // Its image, and what its programs find in their environment, is settled when a container is made.
  signal.throwIfAborted()
  await backend.remove(request.name, true)
  return { workspace: await create(devContainer, image, image !== request.image), devContainer }
}

/** Whether a command follows the start, and not the creation. */
const isLate = ({ command }: LifecycleStep): boolean => /^post(Start|Attach)/.test(command)

/**
 * Runs the commands of a devcontainer.json one after the other, and the dotfiles before those that follow a start. As the
 * specification has it, the first that fails keeps the others from running.
 */
async function prepare(
  backend: Backend,
  { name, dotfiles }: CreateRequest,
  steps: readonly LifecycleStep[],
  context: CreationContext,
): Promise<void> {
  let failed: string | undefined
  const run = async (each: readonly LifecycleStep[]): Promise<void> => {
    for (const { command, programs } of each) {
      if (failed !== undefined) context.progress(`${command} is not run: ${failed} failed`)
      else if (!(await runPreparations(backend, name, programs, context))) failed = command
    }
  }
  await run(steps.filter((step) => !isLate(step)))
  if (dotfiles !== undefined) await runPreparations(backend, name, [dotfilesPreparation(dotfiles)], context)
  await run(steps.filter(isLate))
}

/** Returns the settings to honor. Others are reported, and fail nothing. */
function heed(
  reading: DevContainerReading,
  name: string,
  { progress, logger }: CreationContext,
): DevContainer | undefined {
  if (reading.is === 'none') return undefined
  if (reading.is === 'found') {
    for (const note of reading.config.notes) progress(`devcontainer.json: ${note}`)
    return reading.config
  }
  progress(`devcontainer.json cannot be used: ${reading.why}`)
  logger.warn({ workspace: name, why: reading.why }, 'a devcontainer.json cannot be used')
  return undefined
}

/** A creation that failed and whose remains are still there; the mark on disk tells what to undo. */
export class UnfinishedCreation extends Error {}

/** Removes what an unfinished creation left, but never a volume that was there before it. */
export async function undoCreation(
  backend: Backend,
  marks: CreationMarks,
  mark: CreationMark,
): Promise<void> {
  await backend.remove(mark.name, mark.keepVolume)
  await marks.remove(mark.name)
}

/**
 * The names under which dotfiles repositories keep what installs them, and the order, are those of the devcontainer
 * command line and of GitHub Codespaces; as there, files that begin with a dot are linked where none is found.
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

/** What sets up the home directory inside a workspace from a repository: cloned to `~/dotfiles`, and installed. */
function dotfilesPreparation(repo: Repo): Preparation {
  const argv = ['/bin/sh', '-c', INSTALL, 'sh', ...cloneCommand(repo, 'dotfiles')]
  return { name: 'dotfiles', argv, environment: gitEnvironment(repo) }
}
