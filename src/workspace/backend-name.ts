export const BACKEND_NAMES = ['docker', 'firecracker', 'vz', 'qemu'] as const
export type BackendName = (typeof BACKEND_NAMES)[number]
