import type { BackendName } from '../backend-name.ts'

/** The backends whose images are files of ours, and where those are below the backend's own directory. */
const DIRECTORIES = { firecracker: 'images', qemu: 'images', vz: '.' } as const satisfies Partial<
  Record<BackendName, string>
>
export type ImageBackend = keyof typeof DIRECTORIES
export const IMAGE_BACKENDS: readonly ImageBackend[] = ['firecracker', 'qemu', 'vz']

export function isImageBackend(name: BackendName): name is ImageBackend {
  return name in DIRECTORIES
}

/** Where below a backend's directory its images are. */
export function imageDirOf(backend: ImageBackend): string {
  return DIRECTORIES[backend]
}
