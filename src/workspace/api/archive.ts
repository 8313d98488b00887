import { Type } from '../../lib/schema/type.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import { nameSchema, STRICT } from './parameters.ts'

/** Query of an import; values replace those of the archive. */
export const importQuerySchema = Type.Object(
  {
    name: Type.Optional(nameSchema),
    backend: Type.Optional(
      Type.Enum(BACKEND_NAMES, { description: 'an enabled backend; default from the configuration' }),
    ),
    image: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "image or alias; default the archive's, between containers and VMs that of the configuration",
      }),
    ),
  },
  STRICT,
)
