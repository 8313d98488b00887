import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../lib/clock/clock.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import {
  CodeContext,
  type CodeEnd,
  type CodeLanguage,
  type CodeRequest,
  type CodeSink,
  type ContextOptions,
} from './code-context.ts'

const MAX_PER_WORKSPACE = 8
/** Runs of a context that wait for each other, each with a client. */
const MAX_WAITING = 16
const CLOSE_MS = 3_000

/** A context as clients know it. */
export interface ContextInfo {
  /** That of a language's default context is the language. */
  readonly id: string
  readonly language: CodeLanguage
  readonly createdAt: Date
  /** Where it started; undefined for the workspace's working directory. */
  readonly directory: string | undefined
}

/** Runs code in a context, after the code that already runs or waits there. @throws CONTEXT_BUSY and CONTEXT_ENDED */
type RunCode = (request: CodeRequest, sink: CodeSink) => Promise<CodeEnd & ContextInfo>

interface Entry extends ContextInfo {
  readonly options: ContextOptions
  readonly context: Promise<CodeContext>
  /** Settled when the last run has ended. */
  last: Promise<unknown>
  waiting: number
}

/** Selects a context: the default one of a language, which is created when it is first used, or one by its id. */
export type ContextSelector =
  { readonly by: 'language'; readonly language: CodeLanguage } | { readonly by: 'id'; readonly id: string }

const DEFAULTS: ContextOptions = { directory: undefined, environment: {}, user: undefined }

/** Interpreters in workspaces. They are kept in memory, and end with their workspace and with the server. */
export class CodeContexts {
  readonly #clock: Clock
  readonly #entries = new Map<string, Map<string, Entry>>()

  constructor(table: WorkspaceTable, clock: Clock) {
    this.#clock = clock
    table.onChange((change) => {
      if (change.type !== 'deleted') return
      const entries = this.#entries.get(nameKey(change.name))
      this.#entries.delete(nameKey(change.name))
      // Its runs end even if the backend does not report their end.
      for (const { context } of entries?.values() ?? [])
        context
          .then((each) => each.close())
          .catch(ignore('the caller that created the context gets a failed start'))
    })
  }

  /** Creates a context. @throws TOO_MANY_CONTEXTS and the errors of a start */
  async create(
    backend: Backend,
    workspaceName: string,
    language: CodeLanguage,
    options: ContextOptions,
  ): Promise<ContextInfo> {
    const entry = this.#add(backend, workspaceName, randomBytes(8).toString('hex'), language, options)
    await entry.context
    return entry
  }

  /** Lists a workspace's contexts, oldest first. */
  list(workspaceName: string): readonly ContextInfo[] {
    return [...(this.#entries.get(nameKey(workspaceName))?.values() ?? [])]
  }

  /** Ends a context, and the code that runs in it. @throws CONTEXT_NOT_FOUND */
  async delete(workspaceName: string, id: string): Promise<void> {
    await end(this.#remove(workspaceName, id))
  }

  /** Replaces a context's interpreter by a new one without its state, as `create` started it. @throws CONTEXT_NOT_FOUND */
  async restart(backend: Backend, workspaceName: string, id: string): Promise<void> {
    const old = this.#remove(workspaceName, id)
    // At once, so that no request creates a default context in between.
    const { context } = this.#add(backend, workspaceName, id, old.language, old.options)
    await Promise.all([end(old), context])
  }

  /**
   * Runs code in a context, after the code that already runs or waits there.
   *
   * @throws CONTEXT_NOT_FOUND when there is none with that id
   * @throws CONTEXT_BUSY when too many clients wait
   */
  async run(
    backend: Backend,
    workspaceName: string,
    selector: ContextSelector,
    request: CodeRequest,
    sink: CodeSink,
  ): Promise<CodeEnd & ContextInfo> {
    const run = await this.open(backend, workspaceName, selector)
    return run(request, sink)
  }

  /**
   * Waits until a context has started, and returns a function that runs code in it.
   *
   * @throws CONTEXT_NOT_FOUND, CONTEXT_BUSY and the errors of a start
   */
  async open(backend: Backend, workspaceName: string, selector: ContextSelector): Promise<RunCode> {
    const entry = this.#select(backend, workspaceName, selector)
    const context = await entry.context
    checkQueue(entry)
    return async (request, sink) => {
      checkQueue(entry)
      const run = entry.last.then(() => {
        request.gone.throwIfAborted()
        return context.run(request, sink)
      })
      entry.waiting++
      entry.last = run.catch(ignore('the caller of the turn gets it')).finally(() => entry.waiting--)
      const { id, language, createdAt, directory } = entry
      return { ...(await run), id, language, createdAt, directory }
    }
  }

  /** Ends all interpreters, so that none continues without a server. */
  async close(): Promise<void> {
    const all = [...this.#entries.values()].flatMap((each) => [...each.values()])
    const closing = all.map(async ({ context }) => (await context).close())
    // One that is starting may take longer than the server's end.
    await Promise.race([Promise.allSettled(closing), delay(CLOSE_MS, undefined, { ref: false })])
  }

  #select(backend: Backend, workspaceName: string, selector: ContextSelector): Entry {
    if (selector.by === 'id') return this.#get(workspaceName, selector.id)
    const { language } = selector
    const existing = this.#entries.get(nameKey(workspaceName))?.get(language)
    return existing ?? this.#add(backend, workspaceName, language, language, DEFAULTS)
  }

  #add(
    backend: Backend,
    workspaceName: string,
    id: string,
    language: CodeLanguage,
    options: ContextOptions,
  ): Entry {
    const key = nameKey(workspaceName)
    const entries = this.#entries.get(key) ?? new Map<string, Entry>()
    if (entries.size >= MAX_PER_WORKSPACE)
      throw fault(
        'TOO_MANY_CONTEXTS',
        `workspace "${workspaceName}" has ${MAX_PER_WORKSPACE} code contexts, which is the limit; delete one`,
      )
    const context = CodeContext.start(backend, workspaceName, language, options)
    const createdAt = new Date(this.#clock.wallMs())
    const { directory } = options
    const last = Promise.resolve()
    const entry: Entry = { id, language, createdAt, directory, options, context, last, waiting: 0 }
    this.#entries.set(key, entries.set(id, entry))
    const forget = (): void => {
      if (entries.get(id) === entry) entries.delete(id)
    }
    context.then(({ ended }) => ended).then(forget, forget)
    return entry
  }

  #remove(workspaceName: string, id: string): Entry {
    const entry = this.#get(workspaceName, id)
    this.#entries.get(nameKey(workspaceName))?.delete(id)
    return entry
  }

  #get(workspaceName: string, id: string): Entry {
    const entry = this.#entries.get(nameKey(workspaceName))?.get(id)
    if (entry !== undefined) return entry
    throw fault(
      'CONTEXT_NOT_FOUND',
      `workspace "${workspaceName}" has no code context ${JSON.stringify(id.slice(0, 80))}`,
    )
  }
}

async function end(entry: Entry): Promise<void> {
  const context = await entry.context
  await context.close()
  await context.ended
}

/** @throws CONTEXT_BUSY */
function checkQueue({ id, waiting }: Entry): void {
  if (waiting >= MAX_WAITING)
    throw fault(
      'CONTEXT_BUSY',
      `${MAX_WAITING} requests wait for context "${id}"; wait for them, or create another context`,
    )
}
