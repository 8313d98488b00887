import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Usage } from '../usage/usage-sampler.ts'

export const usageSchema = Type.Object({
  workspaces: Type.Array(
    Type.Object({
      name: Type.String(),
      cpu_percent: Type.Union([Type.Unsafe<number>({ type: 'number' }), Type.Null()], {
        description: 'of one CPU, since it was last looked at; null the first time',
      }),
      memory_bytes: Type.Integer(),
    }),
  ),
})

export function usageToWire(usages: readonly Usage[]): Static<typeof usageSchema> {
  return {
    workspaces: usages.map(({ name, cpuPercent, memoryBytes }) => ({
      name,
      cpu_percent: cpuPercent === undefined ? null : Math.round(cpuPercent * 10) / 10,
      memory_bytes: memoryBytes,
    })),
  }
}
