import { appendFile, readFile } from 'node:fs/promises'
import type { Static } from 'typebox'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import { PHASES } from './phase.ts'
import type { TimelineEntry } from './timeline-entry.ts'

/** Entries kept for each workspace. */
const MAX_ENTRIES = 20
/** Workspaces whose entries are kept; some may have been deleted while the server did not run. */
const MAX_WORKSPACES = 10_000
/** Lines beyond the kept entries after which the file is written again, at least. */
const MIN_EXCESS = 1_000

const common = {
  name: Type.String(),
  /** Distinguishes the workspace from an earlier one with its name. */
  createdMs: Type.Integer(),
  atMs: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
}
const schemas = {
  phase: Type.Object({
    ...common,
    is: Type.Literal('phase'),
    phase: Type.Enum([...PHASES]),
    outcome: Type.Enum(['done', 'failed']),
    durationMs: Type.Integer({ minimum: 0 }),
  }),
  state: Type.Object({
    ...common,
    is: Type.Literal('state'),
    status: Type.Enum(['starting', 'running', 'suspended', 'stopped', 'error']),
    reason: Type.String(),
  }),
  note: Type.Object({ ...common, is: Type.Literal('note'), text: Type.String() }),
  deleted: Type.Object({ name: Type.String(), is: Type.Literal('deleted') }),
}
type Line = Static<(typeof schemas)[keyof typeof schemas]>
type EntryLine = Exclude<Line, { readonly is: 'deleted' }>

/** The properties of a workspace that distinguish it from an earlier one with its name. */
export type Identity = Pick<Workspace, 'name' | 'createdAt'>

/**
 * The latest entries of all timelines, as JSON lines, so that a restarted server can explain states. Entries are appended in
 * the background, without waiting for the disk: a power cut can lose the latest ones.
 */
export class TimelineFile {
  readonly #path: string
  readonly #logger: Logger
  /** By name, oldest first; workspaces with the latest entries last. */
  readonly #kept = new Map<string, EntryLine[]>()
  #pending: Line[] = []
  /** Lines in the file; Infinity if it must be written again. */
  #lines = 0
  #isScheduled = false
  #hasWarned = false
  #written: Promise<void> = Promise.resolve()

  private constructor(path: string, logger: Logger) {
    this.#path = path
    this.#logger = logger
  }

  /** Reads the file. What is damaged is left out, and logged: nothing depends on it. */
  static async open(path: string, logger: Logger): Promise<TimelineFile> {
    const file = new TimelineFile(path, logger)
    try {
      file.#read((await readFile(path, 'utf8').catch(ignoreMissing)) ?? '')
    } catch (error) {
      logger.warn({ err: error, file: path }, 'what happened to workspaces before this start is unknown')
    }
    return file
  }

  /** The kept entries of a workspace, oldest first. */
  entriesOf({ name, createdAt }: Identity): readonly TimelineEntry[] {
    const lines = this.#kept.get(nameKey(name)) ?? []
    return lines.filter(({ createdMs }) => createdMs === createdAt.getTime()).map(entryOf)
  }

  /** Adds an entry; not a phase that is still running. */
  add({ name, createdAt }: Identity, entry: TimelineEntry): void {
    const line = lineOf({ name, createdMs: createdAt.getTime(), atMs: entry.at.getTime() }, entry)
    if (line !== undefined) this.#append(line)
  }

  /** Removes the entries of a deleted workspace. */
  remove(name: string): void {
    if (this.#kept.has(nameKey(name))) this.#append({ name, is: 'deleted' })
  }

  /** Resolves when all entries are written. */
  async close(): Promise<void> {
    await this.#written
  }

  #read(content: string): void {
    const lines = content.split('\n')
    // A killed server may have left a part of a line.
    const isCut = lines.pop() !== ''
    let damaged = 0
    for (const text of lines) {
      const line = parseLine(text)
      if (line === undefined) damaged++
      else this.#keep(line)
    }
    this.#lines = isCut || damaged > 0 ? Infinity : lines.length
    if (damaged > 0)
      this.#logger.warn({ file: this.#path, lines: damaged }, 'entries of timelines are damaged and left out')
  }

  #append(line: Line): void {
    this.#keep(line)
    this.#pending.push(line)
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#written = this.#written.then(() => this.#write())
  }

  #keep(line: Line): void {
    const key = nameKey(line.name)
    const known = this.#kept.get(key)
    this.#kept.delete(key)
    if (line.is === 'deleted') return
    const lines = known?.[0]?.createdMs === line.createdMs ? known : []
    lines.push(line)
    if (lines.length > MAX_ENTRIES) lines.shift()
    this.#kept.set(key, lines)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_WORKSPACES && oldest !== undefined) this.#kept.delete(oldest)
  }

  async #write(): Promise<void> {
    this.#isScheduled = false
    const added = this.#pending
    this.#pending = []
    try {
      this.#lines += added.length
      if (this.#lines > MIN_EXCESS + 2 * MAX_ENTRIES * this.#kept.size) await this.#rewrite()
      else await appendFile(this.#path, encode(added), { mode: 0o600 })
      this.#hasWarned = false
    } catch (error) {
      // A part of a line may have been written.
      this.#lines = Infinity
      if (!this.#hasWarned) this.#logger.warn({ err: error, file: this.#path }, 'timelines cannot be written')
      this.#hasWarned = true
    }
  }

  async #rewrite(): Promise<void> {
    const lines = [...this.#kept.values()].flat()
    await writeFileDurable(this.#path, encode(lines), { mode: 0o600 })
    this.#lines = lines.length
  }
}

/** Undefined for a damaged line, and for one of a newer version. */
function parseLine(text: string): Line | undefined {
  const [, kind = ''] = /"is":"([a-z]+)"/.exec(text) ?? []
  return Object.hasOwn(schemas, kind) ? parseJson(schemas[kind as keyof typeof schemas], text) : undefined
}

function encode(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Undefined for a phase that is still running. */
function lineOf(
  line: Pick<EntryLine, keyof typeof common>,
  { at: _at, ...rest }: TimelineEntry,
): EntryLine | undefined {
  if (rest.is !== 'phase') return { ...line, ...rest }
  const { outcome, durationMs } = rest
  if (outcome === 'running' || durationMs === undefined) return undefined
  return { ...line, ...rest, outcome, durationMs: Math.round(durationMs) }
}

function entryOf({ name: _name, createdMs: _createdMs, atMs, ...rest }: EntryLine): TimelineEntry {
  return { at: new Date(atMs), ...rest }
}
