/** Kinds of faults. */
export const FAULT_KINDS = ['server', 'worker', 'workspace', 'cut', 'disk', 'clock'] as const
/** Kind of a fault. */
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Kinds of violations of promises. */
export const FINDING_KINDS = ['lost', 'changed', 'doubled', 'orphan', 'stuck'] as const
/** Kind of a violation. */
export type FindingKind = (typeof FINDING_KINDS)[number]
