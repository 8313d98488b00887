import { Type } from '../../lib/schema/type.ts'

/** Server information. */
export const infoSchema = Type.Object({
  name: Type.String(),
  version: Type.String(),
  ssh_port: Type.Integer(),
  http_port: Type.Integer(),
  default_backend: Type.String(),
  enabled_backends: Type.Array(Type.String(), { description: 'backends that are available now' }),
})

/** The SSH server's host key. */
export const hostKeySchema = Type.Object({
  host_key: Type.String({ description: 'OpenSSH public key, Ed25519' }),
})

/** Result of a probe. */
export const healthSchema = Type.Object({ status: Type.Literal('ok') })
