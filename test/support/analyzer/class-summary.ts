import { expect } from 'vitest'

/** Returns the summary of a plain class of the shop, with some different fields. */
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
