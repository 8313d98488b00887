import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { detailToWire, summaryToWire, usageSchema, usageToWire } from '../../../api/process.ts'
import { whyToWire } from '../../../api/why.ts'
import { API } from '../api-path.ts'
import type { SupervisorFace } from '../face.ts'

const listQuery = Type.Object({
  group: Type.Optional(Type.String({ description: 'only processes of this group' })),
})
const params = Type.Object({ name: Type.String() })
const action = { 200: Type.Ref('ActionResult') }

interface Named {
  readonly Params: { readonly name: string }
}

/** Adds the routes of processes. */
export function processRoutes(
  { app }: HttpServer,
  { supervisor, usage, config, proxy }: SupervisorFace,
): void {
  const { table } = supervisor

  app.get<{ readonly Querystring: Static<typeof listQuery> }>(
    `${API}/processes`,
    {
      schema: {
        summary: 'Lists all processes, or those of a group',
        querystring: listQuery,
        response: { 200: Type.Object({ processes: Type.Array(Type.Ref('Process')) }) },
      },
    },
    ({ query: { group } }) => ({
      processes: (group === undefined ? table.list() : table.group(group)).map(summaryToWire),
    }),
  )

  app.get<Named>(
    `${API}/processes/:name`,
    {
      schema: {
        summary: 'Returns one process',
        params,
        response: { 200: Type.Ref('ProcessDetail') },
      },
    },
    ({ params: { name } }) =>
      detailToWire(
        table.get(name),
        supervisor.logs.find(name)?.counts().fileLostBytes ?? 0,
        config.api.showEnv,
      ),
  )

  app.get<Named>(
    `${API}/processes/:name/why`,
    {
      schema: {
        summary: 'Explains why a process is in its state, and what to do',
        params,
        response: { 200: Type.Ref('Why') },
      },
    },
    async ({ params: { name } }) => whyToWire(await supervisor.diagnose(name, proxy?.requests.list() ?? [])),
  )

  app.get(
    `${API}/usage`,
    {
      schema: {
        summary: 'Returns CPU and memory of the running processes',
        response: { 200: usageSchema },
      },
    },
    () => usageToWire(usage.read()),
  )

  app.post<Named>(
    `${API}/processes/:name/start`,
    { schema: { summary: 'Starts a process and, before it, its dependencies', params, response: action } },
    ({ params: { name } }) => {
      table.start(name)
      return { success: true }
    },
  )

  app.post<Named>(
    `${API}/processes/:name/stop`,
    { schema: { summary: 'Stops a process; responds when nothing of it is left', params, response: action } },
    async ({ params: { name } }) => {
      await table.get(name).stop()
      return { success: true }
    },
  )

  app.post<Named>(
    `${API}/processes/:name/restart`,
    { schema: { summary: 'Restarts a process in its restart_order', params, response: action } },
    async ({ params: { name } }) => {
      await table.restart(name)
      return { success: true }
    },
  )
}
