/** Phases of a creation or start, in their usual order. `hooks` are the commands of devcontainer.json and dotfiles. */
export const PHASES = ['volume', 'image', 'boot', 'clone', 'hooks'] as const

/** Phase of a creation or start. */
export type Phase = (typeof PHASES)[number]
