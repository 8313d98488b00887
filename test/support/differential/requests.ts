import { type Front, startFronts } from './fronts.ts'
import { Lane } from './lane.ts'
import { type Recorder, startRecorders } from './recorders.ts'

/** Result of a run. */
export interface Outcome {
  readonly requests: number
  /** Number of requests each recorder received; proves that none was idle. */
  readonly seen: Readonly<Record<string, number>>
  readonly refused: number
  /** At most 20 differences, each with the seed and number that reproduce it. */
  readonly differences: readonly string[]
  readonly differenceCount: number
}

/** Size and seed of a run with generated requests. */
export interface RequestRun {
  readonly requests: number
  readonly seed: number
  /** Number of the first request; to reproduce a difference, set its number and `requests: 1`. */
  readonly from?: number
  readonly onProgress?: (requests: number, differences: number) => void
}

/** Number of connections to each upstream through each front. */
const LANES = 3
const KEPT = 20
/** Python's server is by far the slowest. */
const WEIGHTS: Readonly<Record<Recorder['name'], number>> = { node: 7, go: 7, nginx: 5, python: 1 }

/**
 * Sends generated requests through every route of both proxies to four different servers and compares what they receive. Every
 * request must either arrive exactly once and unchanged, or not arrive and be answered with 4xx.
 */
export async function compareRequests(run: RequestRun): Promise<Outcome> {
  const recorders = await startRecorders()
  try {
    const fronts = await startFronts(recorders.all)
    try {
      return await new Comparison(run, recorders.all, fronts.to).run()
    } finally {
      await fronts.stop()
    }
  } finally {
    recorders.stop()
  }
}

class Comparison {
  readonly #run: RequestRun
  readonly #recorders: readonly Recorder[]
  readonly #fronts: ReadonlyMap<string, readonly Front[]>
  readonly #differences: string[] = []
  /** Echoes by recorder, and requests whose client sent EOF, so that their responses may be lost. */
  readonly #echoes = new Map<string, number>()
  readonly #mayBeLost = new Map<string, number>()
  #differenceCount = 0
  #refused = 0
  #next: number
  #done = 0

  constructor(
    run: RequestRun,
    recorders: readonly Recorder[],
    fronts: ReadonlyMap<string, readonly Front[]>,
  ) {
    this.#run = run
    this.#recorders = recorders
    this.#fronts = fronts
    this.#next = run.from ?? 0
  }

  async run(): Promise<Outcome> {
    const first = this.#next
    const lanes = this.#recorders.flatMap((recorder) =>
      (this.#fronts.get(recorder.name) ?? []).flatMap((front) =>
        Array.from({ length: LANES }, () => ({ recorder, front })),
      ),
    )
    const weight = (name: Recorder['name']): number => WEIGHTS[name]
    const total = this.#recorders.reduce((sum, { name }) => sum + weight(name), 0)
    const shares = new Map(
      this.#recorders.map(({ name }) => [name, Math.ceil((this.#run.requests * weight(name)) / total)]),
    )
    const take = (name: Recorder['name']): number | undefined => {
      const left = shares.get(name) ?? 0
      if (left === 0 || this.#next - first >= this.#run.requests) return undefined
      shares.set(name, left - 1)
      return this.#next++
    }
    await Promise.all(
      lanes.map(({ recorder, front }) =>
        new Lane(recorder, front, this.#run.seed, {
          take: () => take(recorder.name),
          report: this.#report,
          saw: (name) => bump(this.#echoes, name),
          mayLose: (name) => bump(this.#mayBeLost, name),
          refused: () => this.#refused++,
          done: this.#finish,
          elsewhere: this.#recorders.flatMap((other) =>
            (this.#fronts.get(other.name) ?? [])
              .filter(({ name }) => name === front.name)
              .map((way) => ({ recorder: other, front: way })),
          ),
        }).run(),
      ),
    )
    const seen: Record<string, number> = {}
    for (const { name, seen: count } of this.#recorders) {
      seen[name] = await count()
      const surplus = seen[name] - (this.#echoes.get(name) ?? 0)
      if (surplus < 0 || surplus > (this.#mayBeLost.get(name) ?? 0))
        this.#report(-1, `${name} saw ${surplus} requests beyond those that were answered`)
    }
    return {
      requests: this.#done,
      seen,
      refused: this.#refused,
      differences: this.#differences,
      differenceCount: this.#differenceCount,
    }
  }

  readonly #report = (number: number, what: string): void => {
    this.#differenceCount++
    if (this.#differences.length < KEPT)
      this.#differences.push(`seed ${this.#run.seed}, request ${number}: ${what}`)
  }

  readonly #finish = (): void => {
    this.#done++
    if (this.#done % 10_000 === 0) this.#run.onProgress?.(this.#done, this.#differenceCount)
  }
}

function bump(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
