/** How visible a member can be, the most visible first; "package" is what has no word of its own in Java. */
export const VISIBILITIES = ['public', 'protected', 'package', 'private'] as const
export type VisibilityLevel = (typeof VISIBILITIES)[number]

export function isVisible(member: VisibilityLevel, least: VisibilityLevel): boolean {
  return VISIBILITIES.indexOf(member) <= VISIBILITIES.indexOf(least)
}
