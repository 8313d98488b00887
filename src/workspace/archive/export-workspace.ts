import type { Readable } from 'node:stream'
import { TAR_END } from '../../lib/tar/encode-header.ts'
import { readTar } from '../../lib/tar/read-tar.ts'
import type { Backend, ExecProcess } from '../backend/backend.ts'
import { hangUpOnAbort } from '../backend/follow-program.ts'
import { readFromInside } from '../devcontainer/read-dev-container.ts'
import { fault } from '../errors.ts'
import { OutputTail, runToEnd } from '../program/run-program.ts'
import type { Workspace } from '../workspace.ts'
import { ArchiveDigest, blocksOf, END_PATH, MANIFEST_PATH, type Section, textEntry } from './format.ts'
import { manifestOf } from './manifest.ts'
import * as scripts from './scripts.ts'
import { directoriesOf } from './sections.ts'

/** Size of a program's messages that are kept. */
export const MAX_MESSAGE_BYTES = 4_096
const MAX_SHOWN = 200
/** GNU tar's status for files that changed or vanished while they were read. */
const CHANGED = 1

/**
 * Begins to export a running workspace: its description, its directory and its user's home, as one tar archive. The
 * files are read inside, as its user. The stream fails if the archive is incomplete.
 *
 * @param gone aborts when the client disconnects, which ends the program inside
 * @throws FILE_DENIED when a file cannot be read
 * @throws BACKEND_ERROR when the workspace has no GNU tar
 */
export async function exportWorkspace(
  backend: Backend,
  workspace: Workspace,
  gone: AbortSignal,
): Promise<AsyncGenerator<Buffer>> {
  const { name } = workspace
  const directories = await directoriesOf(backend, name)
  await check(await start(backend, name, scripts.CHECK, [...directories.values()]), name, gone)
  const reading = await readFromInside(backend, name)
  const manifest = manifestOf(workspace, reading.is === 'found' ? reading.config : {})
  return archive(backend, name, { manifest: JSON.stringify(manifest), directories, gone })
}

async function* archive(
  backend: Backend,
  name: string,
  parts: {
    readonly manifest: string
    readonly directories: ReadonlyMap<Section, string>
    readonly gone: AbortSignal
  },
): AsyncGenerator<Buffer> {
  const digest = new ArchiveDigest()
  yield digest.add(textEntry(MANIFEST_PATH, parts.manifest))
  for (const [section, directory] of parts.directories) {
    const process = await start(backend, name, scripts.PACK, [directory, section])
    for await (const block of packed(process, name, parts.gone)) yield digest.add(block)
  }
  yield textEntry(END_PATH, digest.end())
  yield TAR_END
}

/** Yields the entries of a program's archive, which is untrusted, without its end. */
async function* packed(process: ExecProcess, name: string, gone: AbortSignal): AsyncGenerator<Buffer> {
  const messages = new OutputTail(MAX_MESSAGE_BYTES)
  process.stderr.on('data', (chunk: Buffer) => messages.add(chunk))
  const release = hangUpOnAbort(gone, process)
  try {
    const output = process.stdout as Readable & AsyncIterable<Buffer>
    for await (const item of readTar(output, { isPassedOn: true }))
      if (item.entry.type !== 'other') yield* blocksOf(item)
    const { status } = await process.exitStatus
    if (status !== 0 && status !== CHANGED) throw packFault(name, status, messages)
  } catch (error) {
    gone.throwIfAborted()
    // The archive ended early because the program failed.
    const { status } = await process.exitStatus
    throw status === 0 ? error : packFault(name, status, messages)
  } finally {
    release()
    await process.hangUp()
  }
}

function packFault(name: string, status: number, messages: OutputTail) {
  return programFault(`exporting "${name}" failed`, status, messages)
}

/** Returns the error for a program of an export or import that failed, with the last line that it printed. */
export function programFault(what: string, status: number, messages: OutputTail) {
  const reason = messages.end().bytes.toString().trim().split('\n').at(-1)?.slice(0, MAX_SHOWN)
  return fault('BACKEND_ERROR', `${what}: ${reason || `tar exited with status ${status}`}`)
}

/** Runs the check, which reads every directory and may take minutes. */
async function check(process: ExecProcess, name: string, gone: AbortSignal): Promise<void> {
  const messages = new OutputTail(MAX_MESSAGE_BYTES)
  const options = { input: '', timeoutMs: undefined, gone }
  const { status } = await runToEnd(process, options, (_stream, chunk) => {
    messages.add(chunk)
  })
  if (status === 0) return
  if (status === scripts.NO_TAR) throw tarFault(name)
  if (status !== scripts.UNREADABLE) throw packFault(name, status, messages)
  const path = messages.end().bytes.toString().trim().slice(0, MAX_SHOWN)
  throw fault(
    'FILE_DENIED',
    `the user of workspace "${name}" cannot read ${path}; change its permissions, or delete it`,
  )
}

/** Returns the error for a workspace without GNU tar. */
export function tarFault(name: string) {
  return fault(
    'BACKEND_ERROR',
    `workspace "${name}" has no GNU tar, which exports and imports require; install it, or use an image with it`,
  )
}

function start(
  backend: Backend,
  name: string,
  script: string,
  args: readonly string[],
): Promise<ExecProcess> {
  return backend.exec(name, { argv: ['/bin/sh', '-c', script, 'sh', ...args], stdin: false })
}
