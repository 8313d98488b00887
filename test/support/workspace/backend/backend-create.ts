import type { BackendCreate } from '../../../../src/workspace/backend/backend.ts'

/** A creation with only a name and an image. */
export function backendCreate(
  name: string,
  image: string,
  known: Partial<BackendCreate> = {},
): BackendCreate {
  return {
    name,
    image,
    createdAt: new Date(0),
    repo: '',
    localDir: '',
    forwardPorts: [],
    adoptsFiles: false,
    environment: {},
    cpus: 0,
    memoryMb: 0,
    upperBytes: 0,
    fromSnapshot: '',
    ...known,
  }
}
