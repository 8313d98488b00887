import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { Workspace } from '../workspace.ts'
import { cloneInside, hasFiles } from './clone.ts'
import type { CreateRequest } from './create-request.ts'
import type { CreationMark, CreationMarks } from './creation-marks.ts'

/**
 * Makes one workspace, or undoes whatever it had made. Until it has succeeded, a mark on disk says so. When even the
 * undoing fails the mark stays, and `message` of the thrown fault says that remains are left.
 */
export async function createWorkspace(
  backend: Backend,
  marks: CreationMarks,
  request: CreateRequest,
  createdAt: Date,
  context: {
    readonly progress: (message: string) => void
    readonly signal: AbortSignal
    readonly logger: Logger
  },
): Promise<Workspace> {
  const { progress, signal, logger } = context
  const earlier = await marks.find(request.name)
  if (earlier !== undefined) await undoCreation(backend, marks, earlier)
  const keepVolume = request.localDir === '' && (await backend.hasVolume(request.name))
  const mark: CreationMark = { name: request.name, backend: backend.name, keepVolume }
  try {
    await marks.add(mark)
  } catch (error) {
    throw fault('BACKEND_ERROR', `the state directory cannot be written: ${messageOf(error)}`, error)
  }
  try {
    const workspace = await backend.create(
      { ...request, createdAt, repo: request.repo?.url ?? '' },
      progress,
      signal,
    )
    if (keepVolume) progress('the files of an earlier workspace of this name are taken over')
    if (request.repo !== undefined) {
      if (keepVolume && (await hasFiles(backend, request.name)))
        progress('its files are there: nothing is cloned')
      else {
        progress(`cloning ${request.repo.url}`)
        await cloneInside(backend, request.name, request.repo, progress, signal)
      }
    }
    signal.throwIfAborted()
    await marks.remove(request.name)
    return workspace
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
