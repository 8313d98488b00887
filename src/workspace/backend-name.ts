/** Names of the available backends. */
export const BACKEND_NAMES = ['docker', 'firecracker', 'vz', 'qemu', 'kubernetes'] as const
/** Name of a backend. */
export type BackendName = (typeof BACKEND_NAMES)[number]
