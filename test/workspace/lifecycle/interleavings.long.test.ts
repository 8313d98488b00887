import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import { fc } from '../../support/fast-check.ts'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isFault } from '../../../src/lib/errors/fault.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { fault } from '../../../src/workspace/errors.ts'
import { CreationMarks } from '../../../src/workspace/lifecycle/creation-marks.ts'
import { Lifecycle } from '../../../src/workspace/lifecycle/lifecycle.ts'
import { SettingsStore } from '../../../src/workspace/settings/settings-store.ts'
import { SnapshotLibrary } from '../../../src/workspace/snapshot/snapshot-library.ts'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { waitFor } from '../../support/wait-for.ts'
import { CREATE_DEFAULTS } from '../../support/workspace/lifecycle/create-defaults.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { noEgress } from '../../support/workspace/lifecycle/no-egress.ts'

const NAMES = ['one', 'Two', 'tWO']
const STEPS = ['list', 'find', 'hasVolume', 'volume', 'started', 'start', 'stop', 'remove']

/** Error codes that the specification allows. */
const ALLOWED = {
  create: ['WORKSPACE_ALREADY_EXISTS', 'WORKSPACE_BUSY', 'BACKEND_UNAVAILABLE', 'BACKEND_ERROR'],
  start: [
    'WORKSPACE_NOT_FOUND',
    'WORKSPACE_ALREADY_RUNNING',
    'WORKSPACE_BUSY',
    'BACKEND_UNAVAILABLE',
    'BACKEND_ERROR',
  ],
  stop: [
    'WORKSPACE_NOT_FOUND',
    'WORKSPACE_ALREADY_STOPPED',
    'WORKSPACE_BUSY',
    'BACKEND_UNAVAILABLE',
    'BACKEND_ERROR',
  ],
  remove: ['WORKSPACE_NOT_FOUND', 'BACKEND_UNAVAILABLE', 'BACKEND_ERROR'],
} as const
type Action = keyof typeof ALLOWED

type Event =
  | { readonly does: Action; readonly name: string; readonly keepVolume: boolean }
  /** The engine completes or refuses a pending operation. */
  | { readonly does: 'engineStep'; readonly which: number; readonly fails: boolean }
  | { readonly does: 'engineAway' | 'engineBack' }
  /** A container is stopped, broken, started or removed externally. */
  | { readonly does: 'behind'; readonly name: string; readonly becomes: 'running' | 'stopped' | 'gone' }
  /** Writes files. */
  | { readonly does: 'wait' }

/** A lifecycle on an engine whose progress the test controls. */
class World {
  readonly backend = new FakeBackend()
  readonly table = new WorkspaceTable()
  readonly operations: Promise<void>[] = []
  readonly surprises: unknown[] = []
  #lifecycle: Lifecycle | undefined
  #waiting: { go: () => void; fail: (error: Error) => void }[] = []
  #isFree = false
  readonly #stateDir: string
  readonly #log = createLogger({ level: 'error', format: 'json' })

  constructor(stateDir: string) {
    this.#stateDir = stateDir
  }

  async open(): Promise<void> {
    this.#lifecycle = new Lifecycle({
      egress: noEgress,
      timeline: new Timeline(systemClock),
      table: this.table,
      backends: new Map([['docker', this.backend]]),
      marks: new CreationMarks(this.#stateDir),
      settings: await SettingsStore.open(this.#stateDir),
      snapshots: new SnapshotLibrary([this.backend], systemClock),
      defaults: CREATE_DEFAULTS,
      logger: Object.assign(this.#log, { level: 'silent' }),
      clock: systemClock,
    })
    await this.#lifecycle.open()
    for (const step of STEPS) this.backend.before.set(step, () => this.#wait())
  }

  async happen(event: Event): Promise<void> {
    switch (event.does) {
      case 'engineStep':
        this.#goOn(event.which, event.fails)
        break
      case 'engineAway':
        this.backend.setAvailable(false)
        for (const { fail } of this.#waiting.splice(0))
          fail(fault('BACKEND_UNAVAILABLE', 'the engine went away'))
        break
      case 'engineBack':
        this.backend.setAvailable(true)
        break
      case 'behind':
        this.backend.happen(event.name, event.becomes === 'gone' ? 'gone' : { is: event.becomes })
        break
      case 'wait':
        for (let turns = 0; turns < 10; turns++) await turn()
        break
      case 'create':
      case 'start':
      case 'stop':
      case 'remove':
        this.operations.push(this.#ask(event))
    }
    await turn()
  }

  /** The engine recovers and completes all operations. */
  async settle(): Promise<void> {
    this.#isFree = true
    await this.happen({ does: 'engineAway' })
    await Promise.all(this.operations)
    await this.happen({ does: 'engineBack' })
    for (const { go } of this.#waiting.splice(0)) go()
    await waitFor('table and engine to agree', async () => (await this.#disagreements()).length === 0).catch(
      async (error: unknown) => {
        throw new Error(JSON.stringify(await this.#disagreements()), { cause: error })
      },
    )
  }

  /** Checks that every name can be reused and nothing is left of earlier workspaces. */
  async findRemains(): Promise<readonly string[]> {
    const remains: string[] = []
    for (const name of ['one', 'two']) {
      // Leftovers of an unfinished creation are removed automatically, possibly before this point.
      if (this.table.find(name) !== undefined) await this.#ask({ does: 'remove', name, keepVolume: false })
      if ((await this.backend.find(name)) !== undefined) remains.push(`container of ${name}`)
      await this.#make(name)
      if (this.table.find(name)?.state.is !== 'running') remains.push(`name ${name}`)
      await this.#lifecycle?.remove(name, false)
      if (await this.backend.hasVolume(name)) remains.push(`volume of ${name}`)
    }
    return [...remains, ...this.table.list().map((each) => `entry of ${each.name}`)]
  }

  close(): Promise<void> | undefined {
    return this.#lifecycle?.close()
  }

  async #disagreements(): Promise<readonly unknown[]> {
    const marks = await readdir(join(this.#stateDir, 'creating')).catch(() => [])
    const wrong: unknown[] = marks.map((mark) => ({ mark }))
    for (const name of ['one', 'two']) {
      const [listed, actual] = [this.table.find(name), await this.backend.find(name)]
      // A workspace removed externally stays visible until it is deleted.
      const agree =
        actual === undefined
          ? listed === undefined || listed.state.is === 'error'
          : listed?.state.is === actual.state.is
      if (!agree) wrong.push({ name, listed: listed?.state.is, actual: actual?.state.is })
    }
    return wrong
  }

  #wait(): Promise<void> {
    if (this.#isFree) return Promise.resolve()
    return new Promise((go, fail) => this.#waiting.push({ go, fail }))
  }

  #goOn(which: number, fails: boolean): void {
    const [step] = this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)
    if (fails) step?.fail(fault('BACKEND_ERROR', 'the engine refused'))
    else step?.go()
  }

  async #ask({ does, name, keepVolume }: Extract<Event, { does: Action }>): Promise<void> {
    try {
      if (does === 'create') await this.#make(name)
      else if (does === 'remove') await this.#lifecycle?.remove(name, keepVolume)
      else await this.#lifecycle?.[does](name)
    } catch (error) {
      if (!isFault(error) || !ALLOWED[does].some((code) => code === error.code)) this.surprises.push(error)
    }
  }

  async #make(name: string): Promise<void> {
    const creation = await this.#lifecycle?.prepareCreate({ name })
    await creation?.make(() => undefined)
  }
}

const name = fc.constantFrom(...NAMES)
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constantFrom(...(Object.keys(ALLOWED) as Action[])),
      name,
      keepVolume: fc.boolean(),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      does: fc.constant('engineStep' as const),
      which: fc.nat(5),
      fails: fc.integer({ min: 0, max: 7 }).map((number) => number === 0),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ does: 'engineAway' as const }) },
  { weight: 2, arbitrary: fc.constant({ does: 'engineBack' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('behind' as const),
      name,
      becomes: fc.constantFrom('running', 'stopped', 'gone'),
    }),
  },
  { weight: 6, arbitrary: fc.constant({ does: 'wait' as const }) },
)

test('W10 table and engine agree after any sequence of events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 40 }), async (events) => {
      const stateDir = await mkdtemp(join(tmpdir(), 'interleavings-'))
      const world = new World(stateDir)
      try {
        await world.open()
        for (const each of events) await world.happen(each)
        await world.settle()
        expect(await world.findRemains()).toEqual([])
        expect(world.surprises).toEqual([])
      } finally {
        await world.close()
        await rm(stateDir, { recursive: true, force: true })
      }
    }),
    { numRuns: 500 },
  )
})
