import { createAddonLogStore } from '../../native/programs/log-store.ts'
import type { AddonLogStore } from '../../native/load.ts'
import { type LogBlock, type LogSource, type LogStore, LineListeners, type StreamIndex } from './log-store.ts'

const PART_FIELDS = 7

/** Creates a store that reads, splits, keeps and writes lines in a thread of the addon; JavaScript sees only requested lines. */
export function createNativeLogStore(): LogStore {
  let isClosed = false
  const store = createAddonLogStore(() => listeners.notify())
  const listeners = new LineListeners((isOn) => isClosed || store.setListening(isOn))
  return {
    add: ({ lines, bytes }) => sourceOf(store, store.addSource(lines, bytes), () => isClosed),
    onLines: (listener) => listeners.add(listener),
    nextSequence: () => store.nextSequence(),
    close() {
      isClosed = true
      store.close()
    },
  }
}

function sourceOf(store: AddonLogStore, id: number, isClosed: () => boolean): LogSource {
  return {
    attach(stream, from) {
      if (typeof from === 'number') return store.attach(id, stream, from)
      // A stream may end after the store.
      from.on('data', (bytes: Buffer) => isClosed() || store.push(id, stream, bytes))
      from.on('error', () => undefined)
      from.on('close', () => isClosed() || store.finish(id, stream))
    },
    writeTo(file) {
      if (file === undefined) store.writeTo(id, '', 0, 0, false)
      else store.writeTo(id, file.path, file.maxBytes, file.keep, file.hasTimes)
    },
    setBounds: ({ lines, bytes }) => store.setBounds(id, lines, bytes),
    counts() {
      const [first, end, heldBytes, fileLostBytes, openStreams] = store.counts(id)
      return { first, end, heldBytes, fileLostBytes, openStreams }
    },
    read: (fromIndex, maxBytes) => blocksOf(...store.read(id, fromIndex, maxBytes)),
    remove: () => store.removeSource(id),
  }
}

function blocksOf(parts: Float64Array, bytes: Buffer): readonly LogBlock[] {
  const blocks: LogBlock[] = []
  let at = 0
  for (let i = 0; i < parts.length; i += PART_FIELDS) {
    const [sequence = 0, index = 0, timeMs = 0, lines = 0, size = 0, stream = 0, cut = 0] = parts.subarray(
      i,
      i + PART_FIELDS,
    )
    blocks.push({
      sequence,
      index,
      timeMs,
      lines,
      stream: stream as StreamIndex,
      isCut: cut === 1,
      bytes: bytes.subarray(at, (at += size)),
    })
  }
  return blocks
}
