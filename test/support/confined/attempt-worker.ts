import { attempt, type Targets } from './attempts.ts'

/** A pool's worker that makes an attempt, as hostile code in the place of a reader would. */
export default function attemptWorker(task: {
  readonly name: string
  readonly targets: Targets
}): Promise<string> {
  return attempt(task.name, task.targets)
}
