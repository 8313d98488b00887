import type { Readable } from 'node:stream'

/** An image's settings for its programs; '' and {} when it has none. */
export interface ImageConfig {
  readonly user: string
  readonly workDir: string
  readonly environment: Readonly<Record<string, string>>
}

/** Settings of an image without any. */
export const NO_CONFIG: ImageConfig = { user: '', workDir: '', environment: {} }

/** A root file system available as a tar archive. */
export interface RootfsSource {
  /** The requested Docker reference or file name. */
  readonly ref: string
  /** `sha256:…` of the source's content. */
  readonly digest: string
  /** In Node's notation: x64, arm64. */
  readonly arch: string
  readonly config: ImageConfig
  /** Returns a file that tar can read, compressed or not, or a stream of an uncompressed archive. */
  readonly open: (signal: AbortSignal) => Promise<string | Readable>
}
