import { fault } from './errors.ts'

/** Repository of the images that servers build, which exist only in their engine. */
export const BUILD_REPOSITORY = 'ws-build'

/** A Docker image reference: registry, path, tag or digest; never an option or a path (threat W5). */
const IMAGE = /^[a-z0-9][a-z0-9._:/-]*(?:@sha256:[0-9a-f]{64})?$/i

/**
 * Resolves a name or alias to an image reference.
 *
 * @throws INVALID_REQUEST when it is not an image reference
 */
export function parseImage(text: string, aliases: ReadonlyMap<string, string>): string {
  const image = aliases.get(text) ?? text
  if (image.length <= 255 && IMAGE.test(image) && !image.includes('..')) return image
  throw fault('INVALID_REQUEST', `image ${JSON.stringify(image.slice(0, 80))} is not an image reference`)
}

/** Whether an image is one that a server built. */
export function isBuiltImage(image: string): boolean {
  return image.startsWith(`${BUILD_REPOSITORY}:`)
}
