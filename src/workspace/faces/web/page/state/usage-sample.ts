/** `cpuPercent` of one core; null where it is not known. */
export interface UsageSample {
  readonly cpuPercent: number | null
  readonly memoryBytes: number
}
