import type { BackendName } from '../workspace.ts'

/** The backends whose images are files of ours. */
const IMAGE_BACKENDS = ['firecracker', 'vz', 'qemu'] as const satisfies readonly BackendName[]
export type ImageBackend = (typeof IMAGE_BACKENDS)[number]
