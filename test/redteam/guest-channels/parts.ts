import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Served } from '../../../bench/served.ts'
import { encodeFrame, type FrameKind } from '../../../src/lib/mux/frame.ts'
import type { HostileMachine } from '../../support/hostile/hostile-machine.ts'
import type { OpenSsh } from '../../support/workspace/ssh/open-ssh.ts'

/** The setup of this chapter: a server in a separate process, two containers, and a machine whose agent is the attacker. */
export interface ChannelParts {
  readonly server: Served
  readonly machine: HostileMachine
  /** A container that responds on port 8000 with `ok`. */
  readonly quiet: string
  /** The attacker's container. */
  readonly noisy: string
  readonly ssh: OpenSsh
}

export interface ChannelAttack {
  readonly id: string
  readonly tries: string
  /** Returns the harm done, except to the server's memory and its other clients, which are monitored separately. */
  readonly play: (parts: ChannelParts) => Promise<readonly string[]>
}

const REPLACED_MS = 8_000
const SETTLED_MS = 300

export function frame(channel: number, kind: FrameKind, payload?: Uint8Array): Buffer {
  return Buffer.concat(encodeFrame(channel, kind, payload))
}

export function times(count: number, bytes: Buffer): Buffer {
  return Buffer.concat(Array<Buffer>(count).fill(bytes))
}

/** Starts a new session on the machine's line, replacing the current one. Both sides start one at first, so this waits for a lasting one. */
export function newSession(machine: HostileMachine): Promise<Duplex> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    machine.onSession((session) => {
      clearTimeout(timer)
      // Unread data blocks the line and with it the marker of the next session.
      session.resume()
      timer = setTimeout(() => {
        machine.onSession(() => undefined)
        resolve(session)
      }, SETTLED_MS)
    })
    machine.cut()
  })
}

/** Waits until the server closes a session; returns false if it does not. */
export async function isEnded(session: Duplex): Promise<boolean> {
  session.resume()
  const ended = once(session, 'close').then(() => true)
  return session.destroyed || Promise.race([ended, delay(REPLACED_MS, false, { ref: false })])
}

/** Writes bytes repeatedly, as fast as they are read, until enough are sent, the stream closes or time runs out. */
export async function pour(stream: Duplex, chunk: Buffer, bytes: number, mostMs = 6_000): Promise<void> {
  const endMs = performance.now() + mostMs
  const closed = new Promise((resolve) => stream.once('close', resolve))
  for (let sent = 0; sent < bytes && !stream.destroyed && performance.now() < endMs; sent += chunk.length) {
    if (stream.write(chunk)) {
      await new Promise((resolve) => setImmediate(resolve))
      continue
    }
    const drained = Promise.withResolvers<void>()
    stream.once('drain', drained.resolve)
    await Promise.race([drained.promise, closed, delay(Math.max(0, endMs - performance.now()))])
    stream.off('drain', drained.resolve)
  }
}
