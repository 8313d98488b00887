import { Readable } from 'node:stream'
import { TAR_END } from '../../lib/tar/encode-header.ts'
import type { Backend } from '../backend/backend.ts'
import type { BackendName } from '../backend-name.ts'
import { fault } from '../errors.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { OutputTail, runToEnd } from '../program/run-program.ts'
import type { Creator } from '../team/creator.ts'
import { WORKSPACE_DIR, type Workspace } from '../workspace.ts'
import { MAX_MESSAGE_BYTES, programFault, tarFault } from './export-workspace.ts'
import type { Section } from './format.ts'
import { createInputOf, devContainerOf, type ImportOptions } from './manifest.ts'
import { type ArchiveEntry, openArchive } from './read-archive.ts'
import { NO_TAR, UNPACK } from './scripts.ts'
import { directoriesOf } from './sections.ts'

/** Dependencies of an import. */
export interface ImportContext {
  readonly table: WorkspaceTable
  readonly lifecycle: Pick<Lifecycle, 'prepareCreate'>
  readonly defaultBackend: BackendName
  readonly maxBytes: number
  readonly creator: Creator
}

/**
 * Creates a workspace from an untrusted archive. The files are unpacked inside it, as its user. Until all are, it is
 * being created: a failure removes it, and so does the next start after a killed server.
 *
 * @param gone aborts when the client disconnects
 * @throws INVALID_ARCHIVE, ARCHIVE_TOO_LARGE, and the errors of a creation
 */
export async function importWorkspace(
  { table, lifecycle, defaultBackend, maxBytes, creator }: ImportContext,
  body: Readable,
  options: ImportOptions,
  gone: AbortSignal,
): Promise<Workspace> {
  const stop = new AbortController()
  const signal = AbortSignal.any([gone, stop.signal])
  const { manifest, entries } = await openArchive(body, { maxBytes, signal })
  const input = { ...createInputOf(manifest, options, defaultBackend), creator }
  // Before the name is looked up.
  if (typeof input.name === 'string') creator.checkName(input.name)
  const existing = typeof input.name === 'string' ? table.find(input.name) : undefined
  if (existing !== undefined)
    throw fault(
      'WORKSPACE_ALREADY_EXISTS',
      `workspace "${existing.name}" already exists; import the archive under another name`,
    )
  const creation = await lifecycle.prepareCreate(input, {
    devContainer: devContainerOf(manifest),
    async unpack(backend, name, aborted) {
      const abort = (): void => stop.abort(aborted.reason)
      aborted.addEventListener('abort', abort, { once: true })
      if (aborted.aborted) abort()
      try {
        await unpack(backend, name, entries, signal)
      } finally {
        aborted.removeEventListener('abort', abort)
      }
    },
  })
  return creation.make(() => undefined)
}

/** Unpacks all sections of an archive into a workspace. */
async function unpack(
  backend: Backend,
  name: string,
  entries: AsyncGenerator<ArchiveEntry>,
  signal: AbortSignal,
): Promise<void> {
  const directories = await directoriesOf(backend, name)
  let next = await entries.next()
  for (const [section, directory] of directories) {
    if (next.done === true || next.value.section !== section) continue
    const blocks = async function* (): AsyncGenerator<Buffer> {
      while (next.done !== true && next.value.section === section) {
        yield* next.value.blocks
        next = await entries.next()
      }
      yield TAR_END
    }
    await unpackSection({ backend, name, section, directory }, blocks(), signal)
  }
  if (next.done !== true)
    throw fault(
      'INVALID_ARCHIVE',
      `the archive has files in "${next.value.section}" that the new workspace has no place for; import it with another image`,
    )
}

interface Place {
  readonly backend: Backend
  readonly name: string
  readonly section: Section
  readonly directory: string
}

async function unpackSection(
  { backend, name, section, directory }: Place,
  blocks: AsyncGenerator<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  let isComplete = false
  const followed = async function* (): AsyncGenerator<Buffer> {
    try {
      yield* blocks
      isComplete = true
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  const argv = ['/bin/sh', '-c', UNPACK, 'sh', directory, section, WORKSPACE_DIR]
  const messages = new OutputTail(MAX_MESSAGE_BYTES)
  const { status } = await runToEnd(
    await backend.exec(name, { argv }),
    {
      input: Readable.from(followed(), { objectMode: false }),
      timeoutMs: undefined,
      gone: AbortSignal.any([signal, failed.signal]),
    },
    (stream, chunk) => {
      if (stream === 'stderr') messages.add(chunk)
    },
  )
  if (status === NO_TAR) throw tarFault(name)
  if (status === 0 && isComplete) return
  throw programFault('unpacking the archive failed', status, messages)
}
