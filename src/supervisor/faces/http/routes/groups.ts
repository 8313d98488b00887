import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import type { SupervisedProcess } from '../../../process/supervised-process.ts'
import { API } from '../api-path.ts'
import type { SupervisorFace } from '../face.ts'

const params = Type.Object({ name: Type.String() })

interface Named {
  readonly Params: { readonly name: string }
}

/** Adds the routes that act on all processes of a group. */
export function groupRoutes({ app }: HttpServer, { supervisor: { table } }: SupervisorFace): void {
  const add = (
    action: string,
    summary: string,
    act: (name: string) => Promise<readonly SupervisedProcess[]>,
  ): void => {
    app.post<Named>(
      `${API}/groups/:name/${action}`,
      { schema: { summary, params, response: { 200: Type.Ref('GroupActionResult') } } },
      async ({ params: { name } }) => ({
        success: true,
        processes: (await act(name)).map(({ spec }) => spec.name),
      }),
    )
  }
  add('start', 'Starts the processes of a group that are down, and their dependencies', (name) =>
    table.startGroup(name),
  )
  add('stop', 'Stops the processes of a group, dependents first; responds when nothing is left', (name) =>
    table.stopGroup(name),
  )
  add('restart', 'Stops the processes of a group, dependents first, and starts them', (name) =>
    table.restartGroup(name),
  )
}
