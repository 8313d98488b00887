import { readFile } from 'node:fs/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { readProcStat } from '../../lib/process/proc-stat.ts'
import { bootId } from '../../lib/process/process-identity.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { ProcessTable } from '../process/process-table.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

const runSchema = Type.Object({
  name: Type.String(),
  pid: Type.Integer({ minimum: 1 }),
  /** Start time as counted by the kernel, which makes the id unambiguous. */
  began: Type.String(),
  startedMs: Type.Unsafe<number>({ type: 'number' }),
  restarts: Type.Integer({ minimum: 0 }),
  /** Name of its process tree; default: the process's. */
  tree: Type.Optional(Type.String()),
  /** Port that was chosen for it. */
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  /** Its settings as JSON. */
  spec: Type.String(),
  /** Pipes of its output. */
  pipes: Type.Array(Type.String()),
  group: Type.Union([Type.Null(), Type.Object({ path: Type.String(), inode: Type.String() })]),
})
const recordSchema = Type.Object({
  /** Boot id; process ids and start times are meaningless after a reboot. */
  boot: Type.String(),
  runs: Type.Array(runSchema),
})

/** A program that was running when the record was written. */
export type RecordedRun = Readonly<Static<typeof runSchema>>

const GATHER_MS = 100

/** Records running programs on disk for the next supervisor, in case this one is killed (fault F26). */
export class RunRecord {
  readonly #file: string
  readonly #clock: AlarmClock
  readonly #warn: (message: string) => void
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(file: string, clock: AlarmClock, warn: (message: string) => void) {
    this.#file = file
    this.#clock = clock
    this.#warn = warn
  }

  /** Returns the recorded programs that are still running; empty if the record is unreadable. */
  async read(): Promise<readonly RecordedRun[]> {
    const text = await this.#text()
    if (text === undefined) return []
    const written = parseJson(recordSchema, text)
    if (written === undefined) {
      this.#warn(`${this.#file} is damaged; running programs of the earlier supervisor cannot be taken over`)
      return []
    }
    if (written.boot !== bootId()) return []
    return written.runs.filter(({ pid, began }) => readProcStat(pid)?.began === began)
  }

  async #text(): Promise<string | undefined> {
    try {
      return await readFile(this.#file, 'utf8').catch(ignoreMissing)
    } catch (error) {
      this.#warn(
        `${this.#file} cannot be read: ${messageOf(error)}; running programs of the earlier supervisor cannot be taken over`,
      )
      return undefined
    }
  }

  /** Schedules a write of the record, batching further changes. */
  changed(table: ProcessTable): void {
    this.#cancel ??= this.#clock.after(GATHER_MS, () => {
      this.#cancel = undefined
      void this.write(table)
    })
  }

  /** Serializes writes, so that the last one wins. */
  write(table: ProcessTable): Promise<void> {
    const before = this.#writing
    const write = async (): Promise<void> => {
      await before
      const content: Static<typeof recordSchema> = { boot: bootId(), runs: [...runsOf(table, this.#clock)] }
      try {
        await writeFileDurable(this.#file, JSON.stringify(content), { mode: 0o600 })
      } catch (error) {
        this.#warn(`${this.#file} cannot be written: ${messageOf(error)}`)
      }
    }
    return (this.#writing = write())
  }

  async close(table: ProcessTable): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.write(table)
  }
}

function runsOf(table: ProcessTable, clock: AlarmClock): readonly RecordedRun[] {
  return table.list().flatMap(({ spec: { name }, runs, restarts }) =>
    runs.flatMap(({ program: { pid, traces }, spec, sinceMs }) => {
      const began = readProcStat(pid)?.began
      if (traces === undefined || began === undefined) return []
      const { configured, tree, proxy } = spec
      const startedMs = clock.wallMs() - (clock.nowMs() - sinceMs)
      const { group, pipes } = traces
      const text = JSON.stringify(configured)
      const port = configured.startFirst && proxy?.port
      const run = { name, pid, began, startedMs, restarts, tree, spec: text, group, pipes: [...pipes] }
      return [{ ...run, ...(port !== undefined && { port }) }]
    }),
  )
}
