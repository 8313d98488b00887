import { ACC } from './access-flags.ts'
import { type Facts, rows } from './facts.ts'

const METAFACTORY = 'java/lang/invoke/LambdaMetafactory'

/** Whether a method is the body of a lambda: private, synthetic and named accordingly. */
export function isLambdaBody(facts: Facts, method: number): boolean {
  const flags = facts.methods.accessFlags[method] ?? 0
  return (
    (flags & ACC.SYNTHETIC) !== 0 && facts.strings.get(facts.methods.name[method] ?? 0).includes('lambda$')
  )
}

/**
 * Maps the bodies of a class's lambdas to the source methods that contain them, at any nesting depth. A body
 * is a synthetic method in the same class that a LambdaMetafactory's handle refers to; any other handle is a
 * method reference.
 */
export function lambdaOwners(facts: Facts, classRow: number): ReadonlyMap<number, number> {
  const { classes, methods, dynamicCalls } = facts
  const own = rows(classes.firstMethod, classRow)
  const bodies = new Map<string, number>()
  for (const method of own) {
    const isSynthetic = ((methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0
    if (isSynthetic) bodies.set(`${methods.name[method]} ${methods.descriptor[method]}`, method)
  }
  const holders = new Map<number, number>()
  for (const method of own) {
    for (const each of rows(methods.firstDynamicCall, method)) {
      if (dynamicCalls.handleOwner[each] !== classes.name[classRow]) continue
      if (!isMetafactory(facts, each)) continue
      const body = bodies.get(`${dynamicCalls.handleName[each]} ${dynamicCalls.handleDescriptor[each]}`)
      if (body !== undefined && body !== method) holders.set(body, method)
    }
  }
  const owners = new Map<number, number>()
  for (const [body, holder] of holders) {
    const seen = new Set([body])
    let owner = holder
    for (
      let outer = holders.get(owner);
      outer !== undefined && !seen.has(owner);
      outer = holders.get(owner)
    ) {
      seen.add(owner)
      owner = outer
    }
    owners.set(body, owner)
  }
  return owners
}

/** Whether an invokedynamic creates a lambda or a method reference. */
export function isMetafactory({ dynamicCalls, strings }: Facts, dynamicCall: number): boolean {
  const owner = dynamicCalls.bootstrapOwner[dynamicCall] ?? -1
  return owner >= 0 && strings.get(owner) === METAFACTORY
}

/** Whether an invokedynamic creates a method reference. */
export function isMethodReference(
  facts: Facts,
  dynamicCall: number,
  owners: ReadonlyMap<number, number>,
): boolean {
  const { dynamicCalls } = facts
  if ((dynamicCalls.handleOwner[dynamicCall] ?? -1) < 0 || !isMetafactory(facts, dynamicCall)) return false
  const name = dynamicCalls.handleName[dynamicCall]
  const descriptor = dynamicCalls.handleDescriptor[dynamicCall]
  return ![...owners.keys()].some(
    (body) => facts.methods.name[body] === name && facts.methods.descriptor[body] === descriptor,
  )
}
