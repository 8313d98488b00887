import { Transform } from 'node:stream'

const LENGTH_BYTES = 4

/** Streams that SFTP requests and answers pass through. */
export interface SftpPace {
  readonly requests: Transform
  readonly answers: Transform
}

/**
 * Creates a pair of streams that pass SFTP messages unchanged and delay requests while unanswered ones exceed
 * `maxUnansweredBytes`.
 *
 * OpenSSH's `sftp-server` reads 16 KiB for each request it executes, regardless of the request's size, and every read copies its whole
 * input buffer. A client that sends small writes without waiting for answers, as PuTTY does, makes it slower and slower.
 *
 * Answers are counted, not matched by id: each request has exactly one (draft-ietf-secsh-filexfer-02, section 3).
 */
export function sftpPace(maxUnansweredBytes: number): SftpPace {
  const requestLengths = messageLengths()
  const answerLengths = messageLengths()
  const waiting: number[] = []
  let unansweredBytes = 0
  let resume: (() => void) | undefined
  const requests = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // An incomplete request does not count: it has no answer yet.
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
        // This may synchronously pass the next requests and wait again.
        next?.()
      }
      done(null, chunk)
    },
  })
  return { requests, answers }
}

/** Returns a function that accepts consecutive chunks of a stream and returns the lengths of the messages that end in each. */
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
