/** Maximum number of forks per request. */
export const MAX_FORKS = 64
