/** A usage sample. `cpuPercent` is relative to one core; null if unknown. */
export interface UsageSample {
  readonly cpuPercent: number | null
  readonly memoryBytes: number
}
