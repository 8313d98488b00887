import { scryptSync } from 'node:crypto'

/** Returns a password hash that is fast to verify. */
export function cheapHash(password: string): string {
  const salt = Buffer.from('saltsaltsalt')
  const encode = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=4,r=8,p=1$${encode(salt)}$${encode(scryptSync(password, salt, 32, { N: 16, r: 8, p: 1 }))}`
}
