import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend, ExecProcess, ExitStatus } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import { type Program, startProgram } from '../program/program.ts'
import { followOutput, KILLED, OutputTail, type OutputName, sendSignal } from '../program/run-program.ts'
import { withImports } from './javascript-imports.ts'
import { JAVASCRIPT_RUNNER } from './javascript-runner.ts'
import { PYTHON_RUNNER } from './python-runner.ts'
import { type CodeError, MessageReader, type RunnerMessage } from './runner-messages.ts'

/** Languages in which code can run. */
export const CODE_LANGUAGES = ['python', 'javascript'] as const
/** A language in which code can run. */
export type CodeLanguage = (typeof CODE_LANGUAGES)[number]

const START_MS = 60_000
/** Interrupts that code gets before its interpreter is ended, and the time between them: some system calls discard them. */
const [MAX_INTERRUPTS, INTERRUPT_EVERY_MS] = [10, 500] as const
/** The interpreter ends code that is not waiting by itself, after the interrupt. */
const OWN_LIMIT_MS = 100
const MAX_MESSAGE_BYTES = 4_096
/** Exit statuses before the interpreter is ready. */
const [TOO_OLD, NO_DIRECTORY, MISSING] = [120, 126, 127] as const

const INTERPRETERS: Readonly<
  Record<CodeLanguage, { readonly argv: readonly [string, ...string[]]; readonly what: string }>
> = {
  python: { argv: ['python3', '-c', PYTHON_RUNNER], what: 'python3, 3.8 or later' },
  javascript: {
    argv: ['node', '--input-type=commonjs', '-e', JAVASCRIPT_RUNNER],
    what: 'node, 18 or later',
  },
}
/** Moves requests to descriptor 3, so that neither the code nor its programs read them. */
const START = `command -v "$1" >/dev/null || exit ${MISSING}; exec "$@" 3<&0 </dev/null`

/** Where a context starts. */
export type ContextOptions = Pick<Program, 'directory' | 'environment' | 'user'>

/** A result of code: representations by MIME type, images in base64. */
export interface CodeResult {
  readonly data: Readonly<Record<string, string>>
  /** Whether it is the value of the last expression; others were displayed. */
  readonly isValue: boolean
}

/** Receives what code produces; a promise holds the code up. */
export interface CodeSink {
  /** Receives the number of the run when it begins, after those before it have ended. */
  readonly onStart?: (executionCount: number) => void
  readonly onOutput: (name: OutputName, chunk: Buffer) => Promise<void> | undefined
  readonly onResult: (result: CodeResult) => Promise<void> | undefined
}

/** How code ended. */
export interface CodeEnd {
  readonly executionCount: number
  /** Null for code that succeeded. */
  readonly error: CodeError | null
  readonly hasTimedOut: boolean
  readonly durationMs: number
}

/** Code to run. */
export interface CodeRequest {
  readonly code: string
  /** It is interrupted after this time; undefined for no limit. */
  readonly timeoutMs: number | undefined
  /** Whether results of tables have their columns, as JSON of the type `e2b/data`; large tables take long. */
  readonly hasTables?: boolean
  /** Environment variables during the run, which afterwards have their old values. */
  readonly environment?: Readonly<Record<string, string>>
  /** Aborts when the client disconnects, which interrupts it. */
  readonly gone: AbortSignal
}

type EndMessage = Extract<RunnerMessage, { readonly type: 'end' }>

interface Run {
  readonly id: number
  readonly sink: CodeSink
  readonly done: PromiseWithResolvers<EndMessage>
  /** Both streams have been read up to the end of the run when it is set and marked. */
  end: EndMessage | undefined
  isMarked: boolean
}

/** An interpreter inside a workspace that keeps its state between runs. Runs must follow each other. */
export class CodeContext {
  readonly language: CodeLanguage
  /** Resolves when the interpreter has ended. */
  readonly ended: Promise<ExitStatus>
  readonly #process: ExecProcess
  readonly #readers: Readonly<Record<OutputName, MessageReader>>
  readonly #ready = Promise.withResolvers<string>()
  readonly #messages = new OutputTail(MAX_MESSAGE_BYTES)
  #isReady = false
  #isBroken = false
  #exit: ExitStatus | undefined
  #runs = 0
  #run: Run | undefined

  /**
   * Starts an interpreter.
   *
   * @throws INTERPRETER_MISSING when the workspace has none, or an old one
   * @throws INVALID_REQUEST when the directory cannot be entered
   */
  static async start(
    backend: Backend,
    workspaceName: string,
    language: CodeLanguage,
    options: ContextOptions,
  ): Promise<CodeContext> {
    const { argv, what } = INTERPRETERS[language]
    const mark = randomBytes(16).toString('hex')
    const command = ['/bin/sh', '-c', START, 'sh', ...argv, mark] as const
    const process = await startProgram(backend, workspaceName, { ...options, command })
    const context = new CodeContext(process, language, mark)
    const started = new AbortController()
    try {
      const late = delay(START_MS, undefined, { signal: started.signal })
      const ready = await Promise.race([context.#ready.promise, context.ended, late])
      if (typeof ready === 'string') return context
      await context.close()
      const reason = context.#messages.end().bytes.toString().trim().split('\n').at(-1)?.slice(0, 200)
      if (ready?.status === NO_DIRECTORY)
        throw fault('INVALID_REQUEST', `the interpreter cannot start there: ${reason}`)
      if (ready?.status === MISSING || ready?.status === TOO_OLD)
        throw fault(
          'INTERPRETER_MISSING',
          `code in ${language} requires ${what}, in workspace "${workspaceName}"; install it, or use an image with it`,
        )
      throw fault(
        'BACKEND_ERROR',
        `the ${language} interpreter in workspace "${workspaceName}" did not start: ${reason || 'no response'}`,
      )
    } finally {
      started.abort()
    }
  }

  private constructor(process: ExecProcess, language: CodeLanguage, mark: string) {
    this.#process = process
    this.language = language
    this.#readers = { stdout: new MessageReader(mark), stderr: new MessageReader(mark) }
    process.stdin.on('error', () => undefined)
    this.ended = followOutput(process, (name, chunk) => this.#take(name, chunk))
      .catch(ignore('a lost connection ends it as well', KILLED))
      .then((exit) => {
        this.#exit = exit
        this.#run?.done.reject(this.#endFault(exit))
        return exit
      })
  }

  /**
   * Runs code and resolves when it has ended and all of its output was passed on.
   *
   * @throws CONTEXT_ENDED when the interpreter ended
   */
  async run(request: CodeRequest, sink: CodeSink): Promise<CodeEnd> {
    const { timeoutMs, environment, hasTables: tables, gone } = request
    const code = this.language === 'javascript' ? await withImports(request.code) : request.code
    // Nothing waits from here until the run is known, so that the interpreter's end is not missed.
    if (this.#exit !== undefined) throw this.#endFault(this.#exit)
    const startedMs = performance.now()
    const done = Promise.withResolvers<EndMessage>()
    const run: Run = { id: ++this.#runs, sink, done, end: undefined, isMarked: false }
    this.#run = run
    const over = new AbortController()
    let hasTimedOut = false
    let interrupting: Promise<void> | undefined
    const interrupt = (): void => {
      interrupting ??= this.#interrupt(over.signal)
    }
    const limit =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            hasTimedOut = true
            interrupt()
          }, timeoutMs)
    gone.addEventListener('abort', interrupt, { once: true })
    if (gone.aborted) interrupt()
    try {
      const ownLimit = timeoutMs === undefined ? {} : { timeoutMs: timeoutMs + OWN_LIMIT_MS }
      // The interpreter counts the same.
      sink.onStart?.(run.id)
      const message = { run: run.id, code, environment, tables, ...ownLimit }
      this.#process.stdin.write(`${JSON.stringify(message)}\n`)
      const { count, error } = await done.promise
      const durationMs = Math.round(performance.now() - startedMs)
      return { executionCount: count, error, hasTimedOut, durationMs }
    } finally {
      this.#run = undefined
      clearTimeout(limit)
      gone.removeEventListener('abort', interrupt)
      over.abort()
      // A signal that arrives later would interrupt the next run.
      await interrupting
    }
  }

  /** Ends the interpreter with the programs that it started. */
  async close(): Promise<void> {
    await this.#process.signal('SIGKILL').catch(ignore('it may have exited', false))
    await this.#process.hangUp()
  }

  async #interrupt(over: AbortSignal): Promise<void> {
    for (let interrupts = 0; interrupts < MAX_INTERRUPTS; interrupts++) {
      await sendSignal(this.#process, 'SIGINT').catch(ignore('it may have exited'))
      const isOver = await delay(INTERRUPT_EVERY_MS, false, { signal: over }).catch(
        ignore('an aborted wait means that the run is over', true),
      )
      if (isOver) return
    }
    await this.close()
  }

  #take(name: OutputName, chunk: Buffer): Promise<void> | undefined {
    if (this.#isBroken) return undefined
    if (!this.#isReady && name === 'stderr') this.#messages.add(chunk)
    const waits: Promise<void>[] = []
    try {
      for (const part of this.#readers[name].read(chunk)) {
        const wait =
          part.is === 'output'
            ? this.#run?.sink.onOutput(name, part.bytes)
            : this.#receive(name, part.message)
        if (wait !== undefined) waits.push(wait)
      }
    } catch {
      // It can no longer be understood.
      this.#isBroken = true
      void this.close()
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined)
  }

  #receive(name: OutputName, message: RunnerMessage): Promise<void> | undefined {
    if (message.type === 'ready') {
      this.#isReady = true
      this.#ready.resolve(message.version)
      return undefined
    }
    const run = this.#run
    if (run?.id !== message.run) return undefined
    if (message.type === 'result') return run.sink.onResult(message)
    if (message.type === 'end') run.end = message
    else run.isMarked ||= name === 'stderr'
    if (run.end !== undefined && run.isMarked) run.done.resolve(run.end)
    return undefined
  }

  #endFault({ status }: ExitStatus) {
    return fault(
      'CONTEXT_ENDED',
      `the ${this.language} interpreter ended with status ${status}, and its state is lost; run the code again in a new context`,
    )
  }
}
