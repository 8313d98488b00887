import type { EgressGate } from '../../../../src/workspace/lifecycle/workspace-creator.ts'

/** For a lifecycle whose workspaces have no egress profiles. */
export const noEgress: EgressGate = {
  attach: () => Promise.resolve(),
  environmentOf: () => ({}),
  foreignEnvironmentOf: () => ({}),
  observe: () => undefined,
}
