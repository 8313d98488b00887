import type { Metadata } from '../../../../src/workspace/backend/microvm/files/metadata.ts'

/** Settings of a machine, which its snapshots keep. */
export const MACHINE_SETTINGS = {
  version: 1 as const,
  createdAt: '2026-01-01T00:00:00.000Z',
  image: 'base',
  digest: `sha256:${'0'.repeat(64)}`,
  repo: '',
  forwardPorts: [],
  environment: {},
  cpus: 1,
  memoryMb: 512,
  upperBytes: 2 ** 30,
  isFormatted: true,
}

/** Metadata of a stopped machine `demo`. */
export const MACHINE_METADATA: Metadata = {
  ...MACHINE_SETTINGS,
  name: 'demo',
  id: '0123abcd',
  localDir: '',
  isKept: false,
  failure: '',
  run: null,
}
