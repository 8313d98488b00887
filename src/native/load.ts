import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BackgroundWork } from './background-work.ts'

/** Functions of the .node file; use their wrappers in this folder. */
export interface Addon {
  walkTrees(
    paths: readonly string[],
    threads: number,
    extentsFromBytes: number,
    rememberAt: number,
  ): BackgroundWork
  saveExtents(now: number): Buffer | null
  restoreExtents(saved: Uint8Array): boolean
  moveToTrash(root: string, parent: string, name: string, trash: string): BackgroundWork
  restoreFromTrash(root: string, parent: string, trash: string, name: string): BackgroundWork
  removeTrash(root: string, parent: string, trash: string): BackgroundWork
  punchHoles(fd: number, stretches: Float64Array): BackgroundWork
  collapseFront(fd: number, bytes: number): BackgroundWork
  factsLayout(): string
  digestLayout(): string
  readClasses(files: readonly Uint8Array[]): Promise<unknown>
  readExtents(
    path: string,
    container: Float64Array,
    extents: Float64Array,
    names: readonly string[],
    withDigest: boolean,
  ): Promise<unknown>
  openNestedArchive(path: string, extent: Float64Array): number
  readNestedArchive(archive: number, offset: number, count: number): Buffer
  closeNestedArchive(archive: number): void
  readEnvelopes(bytes: Uint8Array, maxBytes: number): readonly unknown[]
  readFiles(paths: readonly string[], withDigest: boolean): Promise<unknown>
  listFiles(
    path: string,
    ending: string,
    skipped: string,
  ): [names: string, figures: Float64Array, problems: readonly NodeJS.ErrnoException[]]
  matchNames(bytes: Uint8Array, offsets: Int32Array, ids: Int32Array, pattern: string, part: number): unknown
  lockFile(fd: number, isShared: boolean): boolean
  silenceMs(fd: number): number
  limitBackoff(fd: number, limitMs: number): boolean
  acknowledgeNow(fd: number): boolean
  prioritize(niceness: number): boolean
  makePipe(capacityBytes: number): [reader: number, writer: number]
  sendDescriptors(socket: number, descriptors: readonly number[]): void
  openPty(columns: number, rows: number): [socket: number, control: number, far: number]
  resizePty(control: number, columns: number, rows: number): void
  listenVsock(port: number, onConnection: (fd: number, peer: number) => void): number
  stopVsock(listener: number): void
  connectVsock(cid: number, port: number, timeoutMs: number): Promise<number>
  openDevice(path: string): number
  spawnProgram(
    argv: readonly string[],
    environment: readonly string[],
    directory: string,
    output: number,
    error: number,
    user: readonly number[] | null,
    limits: readonly number[],
    cgroup: string,
    isTerminal: boolean,
  ): number
  setSubreaper(isSubreaper: boolean): boolean
  reapChild(pid: number): boolean
  sendDatagram(socket: string, bytes: Uint8Array): void
  notifyManager(socket: string, text: string): void
  ExitWatch: new (onExit: (pid: number, code: number, signal: number) => void) => AddonExitWatch
  LogStore: new (onLines: () => void) => AddonLogStore
  dialLoopback(pid: number, group: string, port: number, timeoutMs: number): Promise<number>
  bindLoopback(pid: number, group: string, port: number): number
}

interface AddonExitWatch {
  add(pid: number): void
  close(): void
}

/** Log store of the addon. */
export interface AddonLogStore {
  addSource(maxLines: number, maxBytes: number): number
  setBounds(source: number, maxLines: number, maxBytes: number): void
  removeSource(source: number): void
  attach(source: number, stream: number, fd: number): void
  push(source: number, stream: number, bytes: Uint8Array): void
  finish(source: number, stream: number): void
  writeTo(source: number, path: string, maxBytes: number, keep: number, hasTimes: boolean): void
  counts(source: number): [first: number, end: number, held: number, fileLost: number, open: number]
  read(source: number, fromIndex: number, maxBytes: number): [parts: Float64Array, bytes: Buffer]
  setListening(isOn: boolean): void
  nextSequence(): number
  close(): void
}

/** The addon, or the reason why it is missing. */
export type Loaded =
  | { readonly is: 'loaded'; readonly addon: Addon; readonly file: string }
  | { readonly is: 'absent'; readonly reason: string }

let loaded: Loaded | undefined

/**
 * Returns the addon of this process. A build in this checkout takes precedence over a prebuilt one, so that
 * changes in `native/` take effect. The environment variable `WORKSPACE_NATIVE=off` disables the addon.
 */
export function loadAddon(): Loaded {
  loaded ??= findAddon(process.env)
  return loaded
}

/**
 * Returns the addon of this process.
 *
 * @param purpose what needs it, for the message
 * @throws Error when the addon is missing, with the reason and how to build it
 */
export function getAddon(purpose: string): Addon {
  const found = loadAddon()
  if (found.is === 'absent') throw new Error(missingAddonMessage(purpose, found.reason))
  return found.addon
}

/** Returns the message for a missing addon: the reason, and the command that builds it. */
export function missingAddonMessage(purpose: string, reason: string): string {
  const root = packageRoot(dirname(fileURLToPath(import.meta.url)))
  return `${purpose} needs the native addon, which cannot be loaded (${reason}): run "npm run build:native" in ${root}`
}

/** Searches for the addon without using the cached result. */
export function findAddon(env: NodeJS.ProcessEnv): Loaded {
  if (env['WORKSPACE_NATIVE'] === 'off') return { is: 'absent', reason: 'WORKSPACE_NATIVE is "off"' }
  const reasons: string[] = []
  for (const file of builtFiles('workspace_native.node')) {
    if (!existsSync(file)) {
      reasons.push(`${file} does not exist`)
      continue
    }
    try {
      return { is: 'loaded', addon: createRequire(import.meta.url)(file) as Addon, file }
    } catch (error) {
      reasons.push(`${file}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { is: 'absent', reason: reasons.join('; ') }
}

/** Returns the possible paths of a file from the native build, the preferred first. */
export function builtFiles(name: string): readonly string[] {
  const here = dirname(fileURLToPath(import.meta.url))
  const root = packageRoot(here)
  return [
    join(root, 'build', 'Release', name),
    join(root, 'prebuilds', `${process.platform}-${process.arch}`, name),
    // Inside virtual machines, all files are in one folder.
    join(here, name),
  ]
}

// This file runs from src/native in a checkout and from dist/src/native in the package.
function packageRoot(directory: string): string {
  if (existsSync(join(directory, 'binding.gyp'))) return directory
  const parent = dirname(directory)
  return parent === directory ? directory : packageRoot(parent)
}
