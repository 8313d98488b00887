/** How much disk something takes. */
export interface Bytes {
  /** How many files it is; 0 where that is not known. */
  readonly files: number
  readonly logicalBytes: number
  readonly physicalBytes: number
}
