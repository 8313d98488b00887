/** A file or folder that the server or the command line uses, and that is therefore never published. */
export interface OwnPath {
  /** Absolute; need not exist. */
  readonly path: string
  /** The setting that names it, or what it is. */
  readonly use: string
  /** Whether a folder inside it can be published, because other programs may put files there. */
  readonly isShared?: boolean
}
