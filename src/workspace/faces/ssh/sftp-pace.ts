import { Transform } from 'node:stream'

const LENGTH_BYTES = 4

/** How sftp requests and answers pass between a client and a server. */
export interface SftpPace {
  readonly requests: Transform
  readonly answers: Transform
}

/**
 * Makes a pair of streams that pass SFTP messages unchanged and hold back requests while those that the server has not answered
 * exceed `maxUnansweredBytes`.
 *
 * OpenSSH's `sftp-server` reads 16 KiB for each request that it executes, whatever the size of that request, and every read copies all
 * that it has read before. A client that sends small writes without waiting for answers, as PuTTY does, makes it slower and slower.
 *
 * Answers are counted, not matched by their ids: each request has one (draft-ietf-secsh-filexfer-02, section 3).
 */
export function sftpPace(maxUnansweredBytes: number): SftpPace {
  const requestLengths = messageLengths()
  const answerLengths = messageLengths()
  const waiting: number[] = []
  let unansweredBytes = 0
  let resume: (() => void) | undefined
  const requests = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // A request whose end is missing does not count: it would have no answer.
      for (const bytes of requestLengths(chunk)) {
        waiting.push(bytes)
        unansweredBytes += bytes
      }
      this.push(chunk)
      if (unansweredBytes < maxUnansweredBytes) done()
      else resume = done
    },
  })
  const answers = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let count = answerLengths(chunk).length; count > 0; count--)
        unansweredBytes -= waiting.shift() ?? 0
      if (unansweredBytes < maxUnansweredBytes) {
        const next = resume
        resume = undefined
        // It may pass the next requests at once, and wait again.
        next?.()
      }
      done(null, chunk)
    },
  })
  return { requests, answers }
}

/** Returns a function that takes a stream's bytes in turn, and returns the lengths of the messages that end in them. */
function messageLengths(): (chunk: Buffer) => readonly number[] {
  let declared = 0
  let seen = 0
  return (chunk) => {
    const lengths: number[] = []
    for (let at = 0; at < chunk.length;) {
      if (seen < LENGTH_BYTES) {
        declared = declared * 256 + (chunk[at] ?? 0)
        seen += 1
        at += 1
      } else {
        const step = Math.min(LENGTH_BYTES + declared - seen, chunk.length - at)
        seen += step
        at += step
      }
      if (seen >= LENGTH_BYTES && seen === LENGTH_BYTES + declared) {
        lengths.push(seen)
        seen = declared = 0
      }
    }
    return lengths
  }
}
