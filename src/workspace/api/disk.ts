import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { DiskReport, MeasuredImage } from '../disk/report.ts'
import { bytesSchema, bytesToWire } from './bytes.ts'
import { STRICT } from './parameters.ts'

const fileSchema = Type.Object({ path: Type.String(), size: bytesSchema, kind: Type.String() })

const imageSchema = Type.Object({
  name: Type.String(),
  path: Type.String(),
  docker_ref: Type.Optional(Type.String()),
  backend: Type.String(),
  size: bytesSchema,
})

/** Query of the disk report. */
export const diskQuerySchema = Type.Object(
  {
    cached: Type.Optional(
      Type.Boolean({ description: 'return the last report, if any, without measuring again; default false' }),
    ),
  },
  STRICT,
)

/** The disk report. */
export const diskReportSchema = Type.Object({
  server_name: Type.String(),
  backend: Type.String(),
  generated_at: Type.String({ format: 'date-time' }),
  images: Type.Array(imageSchema),
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
  /** Missing in earlier versions of the server. */
  snapshots: Type.Optional(Type.Array(imageSchema)),
  orphans: Type.Array(fileSchema),
  totals: Type.Object({
    images: bytesSchema,
    workspaces: bytesSchema,
    snapshots: Type.Optional(bytesSchema),
    orphans: bytesSchema,
    all: bytesSchema,
    shared_bytes: Type.Integer({ description: 'bytes counted more than once in "all"' }),
  }),
  notes: Type.Array(Type.String()),
})

/** The disk report as clients see it. */
export type WireDiskReport = Static<typeof diskReportSchema>

/** Encodes a disk report. */
export function diskReportToWire(
  server: { readonly name: string; readonly defaultBackend: string },
  report: DiskReport,
): WireDiskReport {
  const { totals } = report
  return {
    server_name: server.name,
    backend: server.defaultBackend,
    generated_at: report.generatedAt.toISOString(),
    images: report.images.map(imageToWire),
    workspaces: report.workspaces.map(({ name, status, image, backend, parts, total }) => {
      const files = parts.map(({ kind, path, size }) => ({ path, size: bytesToWire(size), kind }))
      const rootfs = files.find((file) => file.kind === 'rootfs')
      const consoleLog = files.find((file) => file.kind === 'console_log')
      const others = files.filter((file) => file !== rootfs && file !== consoleLog)
      return {
        name,
        status,
        image,
        backend,
        ...(rootfs && { rootfs }),
        ...(consoleLog && { console_log: consoleLog }),
        ...(others.length > 0 && { other_files: others }),
        total: bytesToWire(total),
      }
    }),
    snapshots: report.snapshots.map(imageToWire),
    orphans: report.orphans.map(({ path, size, kind }) => ({ path, size: bytesToWire(size), kind })),
    totals: {
      images: bytesToWire(totals.images),
      workspaces: bytesToWire(totals.workspaces),
      snapshots: bytesToWire(totals.snapshots),
      orphans: bytesToWire(totals.orphans),
      all: bytesToWire(totals.all),
      shared_bytes: totals.sharedBytes,
    },
    notes: [...report.notes],
  }
}

function imageToWire({ name, path, dockerRef, backend, size }: MeasuredImage) {
  return {
    name,
    path,
    ...(dockerRef !== '' && { docker_ref: dockerRef }),
    backend,
    size: bytesToWire(size),
  }
}
