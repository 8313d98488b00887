import type { Bytes } from '../bytes.ts'
import type { BackendName } from '../backend-name.ts'
import type { RootfsSource } from './source/rootfs-source.ts'

/** An image of a backend. Missing texts are '' and missing sizes 0. */
export interface BackendImage {
  readonly name: string
  readonly backend: BackendName
  /** A directory, or the engine's identifier. */
  readonly path: string
  readonly dockerRef: string
  /** Disk usage. */
  readonly sizeBytes: number
  /** Whether it exists and looks complete. */
  readonly isCached: boolean
  /** `sha256:…` */
  readonly digest: string
  readonly tag: string
  readonly isInUse: boolean
}

/** Details of an image. Sizes are bytes, 0 when missing. */
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

/** A request to pull an image. */
export interface PullRequest {
  readonly dockerRef: string
  /** '' for the tag derived from the reference. */
  readonly tag: string
}

/** Callbacks of long-running image work. */
export interface ImageWork {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * The images of one backend. Names have been validated as a reference, tag or digest. All methods fail with
 * IMAGE_NOT_FOUND for a missing image, and otherwise like a backend's.
 */
export interface BackendImages {
  readonly backend: BackendName
  readonly list: () => Promise<readonly BackendImage[]>
  readonly has: (name: string) => Promise<boolean>
  /**
   * Returns an image's details. `verify` reads every byte and compares the digest.
   *
   * @throws BACKEND_ERROR when the image is damaged
   */
  readonly inspect: (name: string, verify: boolean) => Promise<ImageFacts>
  readonly tag: (source: string, target: string) => Promise<void>
  readonly pull: (
    request: PullRequest,
    work: ImageWork,
  ) => Promise<{ readonly tag: string; readonly digest: string }>
  /** Removes a tag, or deletes the image of a digest. @throws IMAGE_IN_USE when something needs it */
  readonly remove: (name: string) => Promise<void>
  /**
   * Returns all images that may be deleted unless needed. Rejects when this cannot be determined for every
   * one of them.
   */
  readonly survey: () => Promise<readonly SurveyedImage[]>
  /**
   * Deletes an image. Returns false when something needs it by now, `isKept` accepts one of its names, or
   * images are being created.
   */
  readonly discard: (digest: string, isKept: (image: BackendImage) => boolean) => Promise<boolean>
}

/** An image with all its names and what needs it. */
export interface SurveyedImage {
  readonly digest: string
  readonly rows: readonly BackendImage[]
  readonly path: string
  /** False for a tag whose image no longer exists. */
  readonly isThere: boolean
  /** Name of what needs it, apart from the configuration; '' for nothing. */
  readonly neededBy: string
  readonly createdAt: Date
  /** Disk usage as reported by the engine; measured from the path when absent. */
  readonly size?: Bytes
}

/** An engine that provides root file systems. */
export interface RootfsEngine {
  /** Returns the image of a reference, pulling a newer one if available. */
  readonly source: (dockerRef: string, work: ImageWork) => Promise<RootfsSource>
}
