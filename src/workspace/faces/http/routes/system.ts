import { Type } from '../../../../lib/schema/type.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { diskReportSchema, diskReportToWire } from '../../../api/disk.ts'
import type { HttpFace } from '../face.ts'

/** What everything takes on disk. */
export function systemRoutes({ app }: HttpServer, face: HttpFace): void {
  app.get(
    '/api/system/df',
    {
      schema: {
        summary: 'Disk usage: logical (apparent) and physical (allocated) bytes',
        response: { 200: diskReportSchema, '5xx': Type.Ref('Error') },
      },
    },
    async () => diskReportToWire(face.config, await face.disk.report()),
  )
}
