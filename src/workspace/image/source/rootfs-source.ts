import type { Readable } from 'node:stream'

/** What an image says of the programs run in it; '' and {} where it says nothing. */
export interface ImageConfig {
  readonly user: string
  readonly workDir: string
  readonly environment: Readonly<Record<string, string>>
}

export const NO_CONFIG: ImageConfig = { user: '', workDir: '', environment: {} }

/** A root file system that can be had as a tar archive. */
export interface RootfsSource {
  /** What was asked for: a Docker reference, a file's name. */
  readonly ref: string
  /** `sha256:…` of what that stands for. */
  readonly digest: string
  /** As Node names it: x64, arm64. */
  readonly arch: string
  readonly config: ImageConfig
  /** A file that tar reads, compressed or not, or a stream of an archive that is not compressed. */
  readonly open: (signal: AbortSignal) => Promise<string | Readable>
}
