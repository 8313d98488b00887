import { posix } from 'node:path'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import { entryToWire, filesystemMessages } from '../../../api/e2b.ts'
import type { AuditSubject } from '../../../audit/audit-log.ts'
import { fault } from '../../../errors.ts'
import type { FileEntry } from '../../../files/entry.ts'
import { parsePath, WorkspaceFiles } from '../../../files/files.ts'
import { shownPath } from '../../../path-text.ts'
import { type FileChange, watchDirectory } from '../../../files/watch.ts'
import type { WatcherTable } from '../../../files/watcher-table.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { ConnectService } from './connect-service.ts'
import { AlreadyExists } from './errors.ts'
import { type SandboxEntrance, userOf } from './sandbox-request.ts'

/** A request, and a signal that aborts when its client disconnects. */
type Caller = readonly [request: FastifyRequest, gone: AbortSignal]

const PING = { keepalive: {} }
const MAX_ENTRIES = 10_000
const MAX_DIRECTORIES = 500
const TYPES: Readonly<Record<FileChange['kind'], string>> = {
  create: 'EVENT_TYPE_CREATE',
  write: 'EVENT_TYPE_WRITE',
  remove: 'EVENT_TYPE_REMOVE',
  rename: 'EVENT_TYPE_RENAME',
  chmod: 'EVENT_TYPE_CHMOD',
}

/** Registers `filesystem.Filesystem`: everything on files but their content. */
export function filesystemService(
  scope: FastifyInstance,
  { audit }: HttpFace,
  entrance: SandboxEntrance,
  watchers: WatcherTable,
): void {
  const service = new ConnectService(scope, 'filesystem.Filesystem')
  const work = async <T>(
    [request, gone]: Caller,
    action: Extract<AuditSubject['action'], `file.${string}`>,
    operation: (files: WorkspaceFiles) => Promise<T>,
  ): Promise<T> => {
    const place = await entrance.enter(request)
    const files = new WorkspaceFiles(place, gone, userOf(request))
    return audit.follow(subjectOf(request, action, place.name), () => operation(files))
  }

  service.unary('Stat', filesystemMessages.path, async ({ path }, ...caller) =>
    work(caller, 'file.read', (files) => stat(files, parsePath(path ?? ''))),
  )

  service.unary('ListDir', filesystemMessages.listDir, async ({ path, depth }, ...caller) =>
    work(caller, 'file.read', async (files) => ({
      entries: await listDeep(files, parsePath(path ?? ''), depth ?? 1),
    })),
  )

  service.unary('MakeDir', filesystemMessages.path, async ({ path }, ...caller) =>
    work(caller, 'file.write', async (files) => {
      const directory = parsePath(path ?? '')
      const existing = await findEntry(files, directory)
      if (existing?.kind === 'directory') throw new AlreadyExists(`${shownPath(directory)} already exists`)
      await files.createDirectory(directory)
      return stat(files, directory)
    }),
  )

  service.unary('Move', filesystemMessages.move, async ({ source, destination }, ...caller) =>
    work(caller, 'file.write', async (files) => {
      const to = parsePath(destination)
      await files.createDirectory(posix.dirname(to))
      await files.move(parsePath(source), to, true)
      return stat(files, to)
    }),
  )

  service.unary('Remove', filesystemMessages.path, async ({ path }, ...caller) =>
    work(caller, 'file.delete', async (files) => {
      const removed = parsePath(path ?? '')
      if ((await findEntry(files, removed)) !== undefined) await files.remove(removed, true)
      return {}
    }),
  )

  service.stream('WatchDir', filesystemMessages.watch, PING, async ({ message, request, stream, ended }) => {
    const { name, backend } = await entrance.enter(request)
    const directory = watchedFrom(message, request)
    const subject = subjectOf(request, 'file.read', name)
    const batches = watchDirectory(backend, name, directory, ended)
    await audit.follow(subject, () => batches.next())
    void stream.send({ start: {} })
    for await (const changes of batches)
      for (const change of changes) await stream.send({ filesystem: changeToWire(change) })
  })

  service.unary('CreateWatcher', filesystemMessages.watch, async (message, request) => {
    const { name, backend } = await entrance.enter(request)
    const directory = watchedFrom(message, request)
    const watcherId = await audit.follow(subjectOf(request, 'file.read', name), () =>
      watchers.create(backend, name, directory),
    )
    return { watcherId }
  })

  service.unary('GetWatcherEvents', filesystemMessages.watcher, async ({ watcherId }, request) => {
    const { name } = await entrance.enter(request)
    return { events: watchers.take(name, watcherId).map(changeToWire) }
  })

  service.unary('RemoveWatcher', filesystemMessages.watcher, async ({ watcherId }, request) => {
    const { name } = await entrance.enter(request)
    watchers.remove(name, watcherId)
    return {}
  })
}

async function stat(files: WorkspaceFiles, path: string) {
  return { entry: entryToWire(await files.stat(path), path) }
}

/** Lists a directory and those in it, down to a depth, without following links. */
async function listDeep(files: WorkspaceFiles, top: string, depth: number) {
  const found: ReturnType<typeof entryToWire>[] = []
  let level = [top]
  let directories = 0
  for (let left = Math.max(1, depth); left > 0 && level.length > 0; left--) {
    const next: string[] = []
    for (const directory of level) {
      // One that has been removed since its parent was listed is left out.
      const entries =
        directory === top ? await files.list(top) : await files.list(directory).catch(ignoreMissing)
      for (const entry of entries) {
        const path = posix.join(directory, entry.name)
        found.push(entryToWire(entry, path))
        if (entry.kind === 'directory') next.push(path)
      }
      if (found.length > MAX_ENTRIES || ++directories > MAX_DIRECTORIES)
        throw fault(
          'FILE_CONFLICT',
          `${shownPath(top)} has too many entries to list to depth ${depth}; use a program inside`,
        )
    }
    level = next
  }
  return found
}

function ignoreMissing(error: unknown): readonly FileEntry[] {
  if (isFault(error) && (error.code === 'FILE_NOT_FOUND' || error.code === 'FILE_DENIED')) return []
  throw error
}

async function findEntry(files: WorkspaceFiles, path: string): Promise<FileEntry | undefined> {
  try {
    return await files.stat(path)
  } catch (error) {
    if (isFault(error) && error.code === 'FILE_NOT_FOUND') return undefined
    throw error
  }
}

function watchedFrom(
  { path, recursive }: { readonly path?: string; readonly recursive?: boolean },
  request: FastifyRequest,
) {
  return { path: parsePath(path ?? ''), isRecursive: recursive === true, user: userOf(request) }
}

function changeToWire({ kind, path }: FileChange) {
  return { name: shownPath(path), type: TYPES[kind] }
}
