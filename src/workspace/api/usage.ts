import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Usage } from '../usage/usage-sampler.ts'

/** CPU and memory usage of workspaces. */
export const usageSchema = Type.Object({
  workspaces: Type.Array(
    Type.Object({
      name: Type.String(),
      cpu_percent: Type.Union([Type.Unsafe<number>({ type: 'number' }), Type.Null()], {
        description: 'percent of one CPU since the last sample; null for the first sample',
      }),
      memory_bytes: Type.Integer(),
    }),
  ),
})

/** Encodes usage, with one decimal of CPU. */
export function usageToWire(usages: readonly Usage[]): Static<typeof usageSchema> {
  return {
    workspaces: usages.map(({ name, cpuPercent, memoryBytes }) => ({
      name,
      cpu_percent: cpuPercent === undefined ? null : Math.round(cpuPercent * 10) / 10,
      memory_bytes: memoryBytes,
    })),
  }
}
