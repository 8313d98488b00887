import { compareMembers, type MembersDiff, type MembersTask } from '../src/analyzer/diff/compare-members.ts'

/** Compares the members of two builds; see compareMembers. */
export default function analyzerMembers(task: MembersTask): MembersDiff {
  return compareMembers(task)
}
