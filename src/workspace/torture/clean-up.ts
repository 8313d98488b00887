import { readdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { isRunning, type ProcessIdentity } from '../../lib/process/process-identity.ts'
import type { EngineObject, ServerObjects } from '../backend/docker/server-objects.ts'
import type { Finding } from './compare.ts'
import type { PrivateServer } from './private-server.ts'

/** Directories of the state directory that are empty without workspaces. */
const DIRECTORIES = ['creating', 'settings', 'inside'] as const
/** Entries of them that belong to no workspace. */
const PERMANENT: ReadonlySet<string> = new Set(['.workspace-run'])
const EXIT_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 100

/** Something of a run that could not be removed. */
export interface Remnant {
  readonly what: string
  /** The command that removes it. */
  readonly command: string
}

/** Lists the engine's objects that a stopped server without workspaces left. */
export async function orphanedObjects(objects: ServerObjects): Promise<readonly Finding[]> {
  return (await objects.list()).map(({ kind, id }) => ({ kind: 'orphan', what: `${kind} ${id}` }))
}

/** Lists workspaces that have two containers or two volumes. */
export async function doubledObjects(objects: ServerObjects): Promise<readonly Finding[]> {
  const seen = new Set<string>()
  return (await objects.list()).flatMap(({ kind, workspace }) => {
    const key = `${kind} of workspace ${workspace}`
    if (workspace === undefined) return []
    if (!seen.has(key)) return seen.add(key) && []
    return [{ kind: 'doubled' as const, what: key }]
  })
}

/** Lists the files of workspaces in the state directory of a server that has none. */
export async function orphanedFiles({ stateDir }: PrivateServer): Promise<readonly Finding[]> {
  const paths = await readdir(stateDir, { recursive: true, withFileTypes: true })
  return paths
    .map(({ parentPath, name }) => relative(stateDir, join(parentPath, name)))
    .filter(isOfWorkspace)
    .map((path) => ({ kind: 'orphan', what: `file ${path} of the state directory` }))
}

/** Whether a path in the state directory belongs to a workspace, or is a temporary file. */
function isOfWorkspace(path: string): boolean {
  const [first = '', second = ''] = path.split('/')
  const isEntry = DIRECTORIES.some((name) => name === first) && second !== '' && !PERMANENT.has(second)
  return isEntry || path.endsWith('.tmp')
}

/** Waits for processes to exit; lists those that do not. */
export async function orphanedProcesses(processes: readonly ProcessIdentity[]): Promise<readonly Finding[]> {
  const endMs = performance.now() + EXIT_LIMIT_MS
  while (processes.some(isRunning) && performance.now() < endMs) await delay(LOOK_EVERY_MS)
  return processes
    .filter(isRunning)
    .map(({ pid }) => ({ kind: 'orphan', what: `process ${pid}, whose server has ended` }))
}

/**
 * Removes what a run left: objects with the id of its server and its names, its processes and its directory. Anything
 * else is kept and reported.
 */
export async function cleanUp({
  server,
  objects,
  processes,
  directory,
  prefix,
}: {
  readonly server: PrivateServer
  /** Undefined if the server never started. */
  readonly objects: ServerObjects | undefined
  readonly processes: readonly ProcessIdentity[]
  readonly directory: string
  readonly prefix: string
}): Promise<readonly Remnant[]> {
  const left = [...(objects === undefined ? [] : await removeObjects(objects, prefix))]
  for (const identity of processes.filter(isRunning)) process.kill(identity.pid, 'SIGKILL')
  const unmount = await server.unmountDisk()
  if (unmount !== undefined) left.push({ what: `the disk at ${server.stateDir}`, command: unmount })
  const remove = `rm -r ${directory}`
  // A container that was kept may use the directory.
  if (left.length > 0) return [...left, { what: `directory ${directory}`, command: remove }]
  try {
    await rm(directory, { recursive: true })
    return []
  } catch (error) {
    return [{ what: `directory ${directory} (${messageOf(error)})`, command: remove }]
  }
}

async function removeObjects(objects: ServerObjects, prefix: string): Promise<readonly Remnant[]> {
  const left: Remnant[] = []
  const order = ['container', 'volume', 'network']
  const found = await objects.list()
  for (const object of found.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))) {
    const why = isOfRun(object, prefix)
      ? await objects.remove(object).then(() => undefined, messageOf)
      : 'its workspace has another name'
    if (why !== undefined)
      left.push({ what: `${object.kind} ${object.id} (${why})`, command: object.command })
  }
  return left
}

/** Whether an object with the server's id also has a name of the run, or none. */
function isOfRun({ kind, workspace }: EngineObject, prefix: string): boolean {
  return workspace === undefined ? kind === 'network' : workspace.startsWith(prefix)
}
