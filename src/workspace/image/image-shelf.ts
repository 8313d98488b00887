import type { Bytes } from '../bytes.ts'
import type { BackendName } from '../backend-name.ts'
import type { RootfsSource } from './source/rootfs-source.ts'

/** An image as a backend has it. Texts are '' and sizes 0 for what there is not. */
export interface ShelfImage {
  readonly name: string
  readonly backend: BackendName
  /** Where it is: a directory, or the engine's own identifier. */
  readonly path: string
  readonly dockerRef: string
  /** What it takes on disk. */
  readonly sizeBytes: number
  /** Whether it is there and as far as a look tells whole. */
  readonly isCached: boolean
  /** `sha256:…` */
  readonly digest: string
  readonly tag: string
  readonly isInUse: boolean
}

/** What is known of an image's making. Sizes are bytes, 0 for what there is not. */
export interface ImageFacts {
  readonly schemaVersion: number
  readonly digest: string
  readonly backend: BackendName
  readonly arch: string
  readonly sourceRef: string
  readonly sourceRefDigest: string
  readonly kernelBytes: number
  readonly initrdBytes: number
  readonly rootfsLogicalBytes: number
  readonly rootfsPhysicalBytes: number
  readonly createdAt: string
}

export interface PullRequest {
  readonly dockerRef: string
  /** '' for the one that the reference suggests. */
  readonly tag: string
}

/** What long work on images is given. */
export interface ImageWork {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * The images of one backend. Names have been checked to be a reference, a tag or a digest. All methods fail with
 * IMAGE_NOT_FOUND for an image that is not there, and as backends do.
 */
export interface ImageShelf {
  readonly backend: BackendName
  readonly list: () => Promise<readonly ShelfImage[]>
  readonly has: (name: string) => Promise<boolean>
  /** With `verify` every byte is read and compared with the digest: BACKEND_ERROR for an image that is damaged. */
  readonly inspect: (name: string, verify: boolean) => Promise<ImageFacts>
  readonly tag: (source: string, target: string) => Promise<void>
  readonly pull: (
    request: PullRequest,
    work: ImageWork,
  ) => Promise<{ readonly tag: string; readonly digest: string }>
  /** Takes a tag away, or deletes what a digest names: IMAGE_IN_USE when something needs it. */
  readonly remove: (name: string) => Promise<void>
  /** All images that may be deleted as far as they are not needed; fails where that cannot be told of any of them. */
  readonly survey: () => Promise<readonly SurveyedImage[]>
  /** Deletes an image unless by now something needs it, or `isKept` holds one of its names, or images are being made. */
  readonly discard: (digest: string, isKept: (image: ShelfImage) => boolean) => Promise<boolean>
}

/** An image with all its names, and whether it can go. */
export interface SurveyedImage {
  readonly digest: string
  readonly rows: readonly ShelfImage[]
  readonly path: string
  /** False for a tag whose image is gone. */
  readonly isThere: boolean
  /** What needs it, beside the configuration; '' for nothing. */
  readonly neededBy: string
  readonly createdAt: Date
  /** What its keeper says it takes; left out where its path is to be measured. */
  readonly size?: Bytes
}

/** An engine that has root file systems. */
export interface RootfsEngine {
  /** The image of a reference, pulled where the engine has not the newest. */
  readonly source: (dockerRef: string, work: ImageWork) => Promise<RootfsSource>
}
