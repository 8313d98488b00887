/** Visibility levels, the most visible first; "package" has no keyword in Java. */
export const VISIBILITIES = ['public', 'protected', 'package', 'private'] as const
/** Visibility of a member. */
export type VisibilityLevel = (typeof VISIBILITIES)[number]

/** Whether a member is at least as visible as a level. */
export function isVisible(member: VisibilityLevel, least: VisibilityLevel): boolean {
  return VISIBILITIES.indexOf(member) <= VISIBILITIES.indexOf(least)
}
