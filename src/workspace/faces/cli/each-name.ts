import { Fault, isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'

/**
 * Runs an action for several names at the same time, and shows what succeeded before it reports what failed.
 *
 * @throws the failure, or one with the messages of all of them and the code of the first
 */
export async function forEachName<T>(
  names: readonly string[],
  act: (name: string) => Promise<T>,
  show: (done: readonly T[]) => void,
): Promise<void> {
  const outcomes = await Promise.allSettled([...new Set(names)].map(act))
  const done = outcomes.filter((each) => each.status === 'fulfilled').map(({ value }) => value)
  const failures = outcomes
    .filter((each) => each.status === 'rejected')
    .map(({ reason }) => reason as unknown)
  if (done.length > 0) show(done)
  const [first] = failures
  if (failures.length === 1) throw first
  const text = failures.map(messageOf).join('\n')
  if (failures.length > 1) throw isFault(first) ? new Fault(first.code, first.kind, text) : new Error(text)
}
