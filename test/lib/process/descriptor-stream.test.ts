import { closeSync, writeSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { arrived, streamOnNext } from '../../../src/lib/process/descriptor-stream.ts'
import { makePipe } from '../../../src/native/programs/pipe.ts'

test('what an exited program wrote has arrived, also if a turn of the event loop takes long', async () => {
  const { reader, writer } = makePipe(4096)
  // While the event loop handles events: it looks for others, as of a pipe that is opened now, only in its next turn.
  await stat('/')
  const stream = streamOnNext([reader], { readable: true })
  onTestFinished(() => {
    stream.destroy()
    closeSync(writer)
  })
  let output = ''
  stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  writeSync(writer, 'output')
  const end = arrived(stream)
  setImmediate(() => {
    const untilMs = performance.now() + 50
    while (performance.now() < untilMs);
  })
  await end
  expect(output).toBe('output')
})
