import { attempt, type Targets } from './attempts.ts'

/** A pool worker that makes an attempt, like hostile code in place of a reader. */
export default function attemptWorker(task: {
  readonly name: string
  readonly targets: Targets
}): Promise<string> {
  return attempt(task.name, task.targets)
}
