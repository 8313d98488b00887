import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { Bytes } from '../backend/backend.ts'
import type { DiskReport } from '../disk/report.ts'

const bytesSchema = Type.Object({
  logical_bytes: Type.Integer({ description: 'apparent file sizes' }),
  physical_bytes: Type.Integer({ description: 'allocated blocks times 512' }),
})
const fileSchema = Type.Object({ path: Type.String(), size: bytesSchema, kind: Type.String() })

export const diskReportSchema = Type.Object({
  server_name: Type.String(),
  backend: Type.String(),
  generated_at: Type.String({ format: 'date-time' }),
  images: Type.Array(
    Type.Object({
      name: Type.String(),
      path: Type.String(),
      docker_ref: Type.Optional(Type.String()),
      backend: Type.String(),
      size: bytesSchema,
    }),
  ),
  workspaces: Type.Array(
    Type.Object({
      name: Type.String(),
      status: Type.String(),
      image: Type.String(),
      backend: Type.String(),
      rootfs: Type.Optional(fileSchema),
      console_log: Type.Optional(fileSchema),
      other_files: Type.Optional(Type.Array(fileSchema)),
      total: bytesSchema,
    }),
  ),
  orphans: Type.Array(fileSchema),
  totals: Type.Object({
    images: bytesSchema,
    workspaces: bytesSchema,
    orphans: bytesSchema,
    all: bytesSchema,
    shared_bytes: Type.Integer(),
  }),
  notes: Type.Array(Type.String()),
})

/** The disk report as clients see it. */
export function diskReportToWire(
  server: { readonly name: string; readonly defaultBackend: string },
  report: DiskReport,
): Static<typeof diskReportSchema> {
  return {
    server_name: server.name,
    backend: server.defaultBackend,
    generated_at: report.generatedAt.toISOString(),
    images: report.images.map(({ name, path, backend, size }) => ({
      name,
      path,
      ...(backend === 'docker' && { docker_ref: name }),
      backend,
      size: bytesToWire(size),
    })),
    workspaces: report.workspaces.map(({ workspace, parts, total }) => {
      const files = parts.map(({ kind, path, size }) => ({ path, size: bytesToWire(size), kind }))
      const rootfs = files.find((file) => file.kind === 'rootfs')
      const consoleLog = files.find((file) => file.kind === 'console_log')
      const others = files.filter((file) => file !== rootfs && file !== consoleLog)
      return {
        name: workspace.name,
        status: workspace.state.is,
        image: workspace.image,
        backend: workspace.backend,
        ...(rootfs && { rootfs }),
        ...(consoleLog && { console_log: consoleLog }),
        ...(others.length > 0 && { other_files: others }),
        total: bytesToWire(total),
      }
    }),
    orphans: [],
    totals: {
      images: bytesToWire(report.totals.images),
      workspaces: bytesToWire(report.totals.workspaces),
      orphans: { logical_bytes: 0, physical_bytes: 0 },
      all: bytesToWire(report.totals.all),
      shared_bytes: 0,
    },
    notes: [...report.notes],
  }
}

function bytesToWire({ logicalBytes, physicalBytes }: Bytes) {
  return { logical_bytes: logicalBytes, physical_bytes: physicalBytes }
}
