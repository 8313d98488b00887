import { hashClasses, type HashClassesTask } from '../src/analyzer/scan/hash-classes.ts'

/** Hashes class files; see hashClasses. */
export default function analyzerHashClasses(task: HashClassesTask): readonly (string | null)[] {
  return hashClasses(task)
}
