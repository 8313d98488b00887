import type { Static } from 'typebox'
import type { CamelCase } from '../../api/camel-case.ts'
import type {
  codeBodySchema,
  codeEndToWire,
  contextBodySchema,
  contextSchema,
  resultToWire,
  WireCodeResult,
} from '../../api/code.ts'
import { ConnectionError } from './errors.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** A language in which code can run. */
export type CodeLanguage = Static<typeof contextBodySchema>['language']

/** An interpreter of a workspace. */
export type CodeContext = CamelCase<Static<typeof contextSchema>>

/** The end of code, its output and its results. */
export type CodeRun = CamelCase<WireCodeResult>

/** Options of code: its context or language, and limits. */
export type CodeOptions = RequestOptions & Omit<CamelCase<Static<typeof codeBodySchema>>, 'code'>

/** Where a new interpreter starts. */
export type ContextOptions = RequestOptions & Omit<CamelCase<Static<typeof contextBodySchema>>, 'language'>

/** A piece of output, a result, or the end of the code. */
export type CodeEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: string }
  | ({ readonly type: 'result' } & CamelCase<ReturnType<typeof resultToWire>>)
  | ({ readonly type: 'end' } & CamelCase<ReturnType<typeof codeEndToWire>>)

/** Interpreters of a running workspace, which keep their state between runs and end with the workspace. */
export class WorkspaceCode {
  readonly #transport: Transport
  readonly #path: string

  constructor(transport: Transport, workspacePath: string) {
    this.#transport = transport
    this.#path = `${workspacePath}/code`
  }

  /**
   * Runs code, by default Python, and returns its output and results. An exception of the code is in `error`. Aborting the
   * signal interrupts it.
   */
  run(code: string, { signal, ...options }: CodeOptions = {}): Promise<CodeRun> {
    return this.#transport.ask('POST', this.#path, { body: { code, ...options }, signal })
  }

  /** Runs code and yields output and results as they arrive, then how it ended. Ending the iteration interrupts it. */
  async *stream(
    code: string,
    { signal, ...options }: Omit<CodeOptions, 'maxOutputBytes'> = {},
  ): AsyncGenerator<CodeEvent, void, void> {
    const request = { body: { code, ...options }, signal }
    for await (const { event, data } of this.#transport.events('POST', this.#path, request)) {
      if (event === 'stdout' || event === 'stderr')
        yield { type: event, data: (data as { text: string }).text }
      if (event === 'result' || event === 'end') yield { type: event, ...(data as object) } as CodeEvent
      if (event === 'end') return
    }
    throw new ConnectionError('the connection to the interpreter was lost')
  }

  /** Starts an interpreter with a separate state. */
  createContext(language: CodeLanguage, { signal, ...options }: ContextOptions = {}): Promise<CodeContext> {
    const request = { body: { language, ...options }, signal }
    return this.#transport.ask('POST', `${this.#path}/contexts`, request)
  }

  /** Lists interpreters, oldest first; the id of a language's default one is the language. */
  async contexts(options: RequestOptions = {}): Promise<readonly CodeContext[]> {
    const path = `${this.#path}/contexts`
    return (await this.#transport.ask<{ contexts: CodeContext[] }>('GET', path, options)).contexts
  }

  /** Ends an interpreter, and the code that runs in it. */
  async deleteContext(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.ask('DELETE', `${this.#path}/contexts/${encodeURIComponent(id)}`, options)
  }
}
