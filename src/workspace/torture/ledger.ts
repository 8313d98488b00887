/**
 * A value that requests change one after another. After a change without an answer, both the old and the new value
 * are possible.
 */
export class Register<T> {
  #possible: readonly T[]
  #pending: readonly T[] = []

  constructor(value: T) {
    this.#possible = [value]
  }

  /** The values that are possible while no request is pending: one, unless a change was not answered. */
  get possible(): readonly T[] {
    return this.#possible
  }

  /** Whether the last change was answered. */
  get isSettled(): boolean {
    return this.#possible.length === 1
  }

  /** Notes a request before it is sent. */
  begin(value: T): void {
    this.#pending = [value]
  }

  /** Notes that the server acknowledged the request. */
  acknowledge(): void {
    if (this.#pending.length > 0) this.#possible = this.#pending
    this.#pending = []
  }

  /** Notes that the server refused the request, which changed nothing. */
  refuse(): void {
    this.#pending = []
  }

  /** Notes that the request was not answered, or that a fault may have changed the value. */
  leaveOpen(...values: readonly T[]): void {
    this.#possible = [...new Set([...this.#possible, ...this.#pending, ...values])]
    this.#pending = []
  }

  /** Whether a value that was found is possible. */
  admits(value: T): boolean {
    return this.#possible.includes(value) || this.#pending.includes(value)
  }
}

/** A workspace as the answers to its clients describe it. */
export class ExpectedWorkspace {
  readonly name: string
  readonly exists = new Register(false)
  readonly status = new Register<'running' | 'stopped'>('running')
  /** Digests of files by name; undefined for a file that does not exist. */
  readonly files = new Map<string, Register<string | undefined>>()
  readonly labels = new Map<string, Register<string | undefined>>()
  /** Lines appended by programs, each exactly once if the program was acknowledged. */
  readonly appended = new Set<string>()
  /** Lines whose program was not acknowledged, which are there once or not. */
  readonly mayBeAppended = new Set<string>()

  #wasInterrupted = false

  constructor(name: string) {
    this.name = name
  }

  /** Whether its programs were killed, which leaves the temporary files that they were writing. */
  get wasInterrupted(): boolean {
    return this.#wasInterrupted
  }

  /** Notes that all its programs may be killed, also those of requests without an answer. */
  noteInterruption(): void {
    this.#wasInterrupted = true
  }

  /** Returns the register of a file, created when it is first used. */
  file(name: string): Register<string | undefined> {
    return registerOf(this.files, name)
  }

  /** Returns the register of a label, created when it is first used. */
  label(key: string): Register<string | undefined> {
    return registerOf(this.labels, key)
  }
}

function registerOf(
  registers: Map<string, Register<string | undefined>>,
  key: string,
): Register<string | undefined> {
  const register = registers.get(key) ?? new Register<string | undefined>(undefined)
  registers.set(key, register)
  return register
}

/** Kinds of operations whose acknowledgements are counted. */
export type Operation =
  'create' | 'delete' | 'start' | 'stop' | 'write' | 'remove' | 'append' | 'label' | 'transfer'

/** Everything that a server acknowledged to the clients of a run. */
export class Ledger {
  readonly #workspaces = new Map<string, ExpectedWorkspace>()
  readonly #acknowledged = new Map<Operation, number>()
  #unanswered = 0

  /** All workspaces ever created, also deleted ones. */
  get workspaces(): readonly ExpectedWorkspace[] {
    return [...this.#workspaces.values()]
  }

  /** Number of acknowledged operations by kind. */
  get acknowledged(): ReadonlyMap<Operation, number> {
    return this.#acknowledged
  }

  /** Number of operations whose answer a fault prevented, or that failed. */
  get unanswered(): number {
    return this.#unanswered
  }

  find(name: string): ExpectedWorkspace | undefined {
    return this.#workspaces.get(name)
  }

  /** Adds a workspace before its creation is requested. */
  add(name: string): ExpectedWorkspace {
    const workspace = new ExpectedWorkspace(name)
    this.#workspaces.set(name, workspace)
    return workspace
  }

  /** Counts an operation that may have happened or not. */
  countUnanswered(): void {
    this.#unanswered++
  }

  /** Counts an acknowledged operation. */
  count(operation: Operation): void {
    this.#acknowledged.set(operation, (this.#acknowledged.get(operation) ?? 0) + 1)
  }
}
