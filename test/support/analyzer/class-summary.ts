import { expect } from 'vitest'

/** The summary of a plain class of the shop, with what is said differently. */
export const summary = (fqn: string, simpleName: string, rest: object = {}) => ({
  fqn,
  simpleName,
  packageName: 'shop.model',
  source: 'PROJECT',
  type: 'CLASS',
  isInterface: false,
  isAbstract: false,
  isEnum: false,
  isAnnotation: false,
  isRecord: false,
  isSealed: false,
  methodCount: expect.any(Number),
  fieldCount: expect.any(Number),
  ...rest,
})
