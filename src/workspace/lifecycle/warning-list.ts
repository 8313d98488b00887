const MAX_WARNINGS = 50
const MAX_LENGTH = 300
/** Warnings in the timeline, which has few entries for each workspace. */
const MAX_NOTED = 10

/** Reports a warning to the client, and in the workspace's timeline. */
interface WarningReport {
  readonly progress: (message: string) => void
  readonly note: (text: string) => void
}

/** Warnings of a creation, which the workspace keeps. A devcontainer.json can cause any number of any length. */
export class WarningList {
  readonly #report: WarningReport
  readonly #texts: string[] = []
  #count = 0

  constructor(report: WarningReport) {
    this.#report = report
  }

  /** Adds a warning and reports it, unless it is there already: a container may be created twice. */
  add(text: string): void {
    const short = text.slice(0, MAX_LENGTH)
    if (this.#texts.includes(short)) return
    this.#report.progress(short)
    if (++this.#count <= MAX_WARNINGS) this.#texts.push(short)
    if (this.#count <= MAX_NOTED) this.#report.note(short)
    else if (this.#count === MAX_NOTED + 1) this.#report.note('more warnings: see the workspace')
  }

  /** The warnings; undefined if there are none. */
  get texts(): readonly string[] | undefined {
    const omitted = this.#count - this.#texts.length
    if (this.#count === 0) return undefined
    return omitted === 0 ? [...this.#texts] : [...this.#texts, `${omitted} more warnings`]
  }
}
