import type { BackendName } from '../backend-name.ts'

/** Backends whose images are files of this server, and the images' directory below the backend's own. */
const DIRECTORIES = { firecracker: 'images', qemu: 'images', vz: '.' } as const satisfies Partial<
  Record<BackendName, string>
>
/** A backend whose images are files of this server. */
export type ImageBackend = keyof typeof DIRECTORIES
/** Names of these backends. */
export const IMAGE_BACKENDS: readonly ImageBackend[] = ['firecracker', 'qemu', 'vz']

/** Returns whether a backend's images are files of this server. */
export function isImageBackend(name: BackendName): name is ImageBackend {
  return name in DIRECTORIES
}

/** Returns the images' directory, relative to the backend's. */
export function imageDirOf(backend: ImageBackend): string {
  return DIRECTORIES[backend]
}
