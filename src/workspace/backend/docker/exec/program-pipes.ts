import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { streamOnNext } from '../../../../lib/process/descriptor-stream.ts'
import { makePipe } from '../../../../native/programs/pipe.ts'

/** Several reads' worth, so that neither side waits for the other at every turn. */
const CAPACITY_BYTES = 256 * 1024

/** The server's ends of a program's standard streams. */
export interface ProgramStreams {
  readonly stdin: Writable
  readonly stdout: Socket
  readonly stderr: Socket
}

/**
 * Makes pipes for a program's standard streams and gives its ends to `pass`, in the order of their numbers, without the
 * first when there is no input.
 *
 * @throws what `pass` throws, and like node:fs when no descriptor is left; nothing is open then
 */
export function openPipes(hasInput: boolean, pass: (ends: readonly number[]) => void): ProgramStreams {
  const theirs: number[] = []
  const ours: number[] = []
  try {
    if (hasInput) {
      const { reader, writer } = makePipe(CAPACITY_BYTES)
      theirs.push(reader)
      ours.push(writer)
    }
    for (let i = 0; i < 2; i++) {
      const { reader, writer } = makePipe(CAPACITY_BYTES)
      theirs.push(writer)
      ours.push(reader)
    }
    pass(theirs)
    const stdin = hasInput ? streamOnNext(ours, { writable: true }) : ended()
    return {
      stdin,
      stdout: streamOnNext(ours, { readable: true }),
      stderr: streamOnNext(ours, { readable: true }),
    }
  } finally {
    for (const fd of [...theirs, ...ours]) closeSync(fd)
  }
}

/** The input of a program that has none. */
function ended(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() }).end()
}
