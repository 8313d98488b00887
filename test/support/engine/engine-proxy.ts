import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { tempDir } from '../temp-dir.ts'

const ENGINE = '/var/run/docker.sock'

/** The fate of a request: forwarded, or withheld from the engine permanently. */
type Verdict = 'pass' | 'drop'

/**
 * Instead of a verdict: forwarded after this delay while everything else continues, even when nobody waits
 * for the answer any more.
 */
interface Delay {
  readonly delayMs: number
}

/**
 * A socket in front of the machine's engine that can hang, disappear and return, and that sees every request.
 */
export class EngineProxy {
  readonly path = join(tempDir(), 'engine.sock')
  /** Called with for example `POST /volumes/create` before a request is forwarded. */
  onRequest: (request: string) => Verdict | Delay = () => 'pass'
  /** Called with the same once the first byte of its answer has arrived, before it is forwarded. */
  onAnswer: (request: string) => Verdict = () => 'pass'
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #server: Server | undefined
  #stopped: ChildProcessByStdio<null, Readable, null> | undefined

  get address(): string {
    return `unix://${this.path}`
  }

  async open(): Promise<this> {
    if (existsSync(this.path)) rmSync(this.path)
    const server = createServer({ allowHalfOpen: true }, (client) => this.#join(client))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.path, resolve))
    return this
  }

  /**
   * Makes `freeze` leave connections unaccepted like a stopped engine: they wait at a stopped process,
   * because Node.js itself accepts every connection.
   */
  async prepareFreeze(): Promise<void> {
    renameSync(this.path, `${this.path}.live`)
    const listener = `require('node:net').createServer().listen(process.argv[1], () => console.log('ready'))`
    this.#stopped = spawn(process.execPath, ['-e', listener, this.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(this.#stopped.stdout, 'data')
    this.#stopped.kill('SIGSTOP')
    renameSync(this.path, `${this.path}.stopped`)
    renameSync(`${this.path}.live`, this.path)
  }

  freeze(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
    renameSync(this.path, `${this.path}.live`)
    renameSync(`${this.path}.stopped`, this.path)
  }

  thaw(): void {
    if (existsSync(`${this.path}.live`)) renameSync(`${this.path}.live`, this.path)
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
    this.#stopped?.kill('SIGKILL')
  }

  /** Behaves like an engine that died. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve))
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
    await closed
  }

  #join(client: Socket): void {
    const engine = connect({ path: ENGINE, allowHalfOpen: true })
    const pair = [client, engine] as const
    this.#pairs.add(pair)
    let asked = ''
    client.on('data', (chunk: Buffer) => {
      const request = requestLine(chunk)
      if (request !== undefined) asked = request
      const verdict = request === undefined ? 'pass' : this.onRequest(request)
      if (verdict === 'drop') this.#end(pair)
      else if (verdict === 'pass') engine.write(chunk)
      else
        setTimeout(() => {
          if (engine.destroyed) sendAlone(chunk, () => this.onAnswer(asked))
          else engine.write(chunk)
        }, verdict.delayMs)
    })
    engine.on('data', (chunk: Buffer) => {
      const request = asked
      asked = ''
      if (request !== '' && this.onAnswer(request) === 'drop') this.#end(pair)
      else client.write(chunk)
    })
    client.on('end', () => engine.end())
    engine.on('end', () => client.end())
    for (const socket of pair) socket.on('error', () => this.#end(pair)).on('close', () => this.#end(pair))
    client.resume()
  }

  #end(pair: readonly [Socket, Socket]): void {
    this.#pairs.delete(pair)
    for (const socket of pair) socket.destroy()
  }
}

/** Sends a request for whose answer its client no longer waits. */
function sendAlone(request: Buffer, onAnswer: () => void): void {
  const engine = connect({ path: ENGINE })
  engine
    .on('error', () => undefined)
    .once('data', () => {
      onAnswer()
      engine.destroy()
    })
  engine.write(request)
}

/** Returns the method and the path without version and query if a chunk starts a request. */
function requestLine(chunk: Buffer): string | undefined {
  const match = /^(GET|POST|DELETE|PUT|HEAD) (?:\/v[\d.]+)?(\/[^? ]*)\S* HTTP/.exec(
    chunk.toString('latin1', 0, 4096),
  )
  return match === null ? undefined : `${match[1]} ${match[2]}`
}

/** A proxy that is closed with the test. */
export async function engineProxy(): Promise<EngineProxy> {
  const proxy = await new EngineProxy().open()
  onTestFinished(() => {
    proxy.thaw()
    return proxy.cut()
  })
  return proxy
}
