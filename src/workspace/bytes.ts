/** Disk usage. */
export interface Bytes {
  /** Number of files; 0 if unknown. */
  readonly files: number
  readonly logicalBytes: number
  readonly physicalBytes: number
}
