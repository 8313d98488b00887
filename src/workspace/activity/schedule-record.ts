import { readFile } from 'node:fs/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { openSealedJson, sealJson } from '../../lib/fs/sealed-json.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'

const recordSchema = Type.Object(
  {
    version: Type.Literal(1),
    /** The server's schedule, whose change is not an event that was missed. */
    defaults: Type.String(),
    /** System time until which all schedules have been followed. */
    handledMs: Type.Integer({ minimum: 0 }),
    /** Stops that wait until nobody uses the workspace. */
    waiting: Type.Array(
      Type.Object({ name: Type.String(), createdAt: Type.String(), dueMs: Type.Integer({ minimum: 0 }) }),
    ),
  },
  { additionalProperties: false },
)

/** State that a restarted server needs to follow schedules. */
export type ScheduleState = Static<typeof recordSchema>

/** The file that lets a restarted server continue schedules: without it, times before the restart count as followed. */
export class ScheduleRecord {
  readonly #path: string
  readonly #logger: Logger
  #written: Promise<void> = Promise.resolve()

  constructor(path: string, logger: Logger) {
    this.#path = path
    this.#logger = logger
  }

  /** Returns the state; undefined, with a warning, if it is damaged. */
  async read(): Promise<ScheduleState | undefined> {
    try {
      const content = await readFile(this.#path, 'utf8').catch(ignoreMissing)
      if (content === undefined) return undefined
      const state = openSealedJson(recordSchema, content)
      if (state === undefined) this.#warn('it is damaged or from a newer version')
      return state
    } catch (error) {
      this.#warn(messageOf(error))
      return undefined
    }
  }

  /** Writes the state, after earlier ones. A failure is logged, because schedules work without the file. */
  write(state: ScheduleState): Promise<void> {
    this.#written = this.#written
      .then(() => writeFileDurable(this.#path, sealJson(state), { mode: 0o600 }))
      .catch((error: unknown) => this.#warn(messageOf(error)))
    return this.#written
  }

  /** Resolves when all writes have ended. */
  written(): Promise<void> {
    return this.#written
  }

  #warn(why: string): void {
    this.#logger.warn(
      { file: this.#path, why },
      'the state of schedules is lost; stops missed while the server did not run are not made up for',
    )
  }
}
