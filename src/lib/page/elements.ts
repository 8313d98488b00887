/** Returns the element with an id. @throws Error when there is none of that type */
export function byId<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id)
  if (element instanceof kind) return element
  throw new Error(`the page has no ${kind.name} with the id "${id}"`)
}

/** Creates an element with properties and children; strings become text, never markup. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  Object.assign(element, properties)
  element.append(...children)
  return element
}
