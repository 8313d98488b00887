import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { templateSchema, templateToWire } from '../../../api/template.ts'
import type { HttpFace } from '../face.ts'

/** Registers the route for templates: list. */
export function templateRoute({ app }: HttpServer, { config }: HttpFace): void {
  app.get(
    '/api/templates',
    {
      schema: {
        summary: 'List templates for new workspaces, in the order of the configuration',
        response: { 200: Type.Object({ templates: Type.Array(templateSchema) }) },
      },
    },
    () => ({ templates: [...config.templates.values()].map(templateToWire) }),
  )
}
