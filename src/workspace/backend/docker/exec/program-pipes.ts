import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { streamOnNext } from '../../../../lib/process/descriptor-stream.ts'
import { makePipe } from '../../../../native/programs/pipe.ts'

/** Several reads' worth, so that the two sides do not wait for each other on every turn. */
const CAPACITY_BYTES = 256 * 1024

/** The server's ends of a program's standard streams. */
export interface ProgramStreams {
  readonly stdin: Writable
  readonly stdout: Socket
  readonly stderr: Socket
}

/**
 * Creates pipes for a program's standard streams and hands the program's ends to `pass`, in descriptor order,
 * omitting the first when there is no input.
 *
 * @throws the error of `pass`, or of node:fs when no descriptor is left; all ends are closed then
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

/** Returns the input stream of a program without input. */
function ended(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() }).end()
}
