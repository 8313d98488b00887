import { readSlices, type ReadReport, type ReadTask } from '../src/analyzer/scan/read-slices.ts'

/** Reads slices into the store; see readSlices. */
export default function analyzerRead(task: ReadTask): Promise<ReadReport> {
  return readSlices(task)
}
