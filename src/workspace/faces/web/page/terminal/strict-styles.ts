/**
 * Lets xterm.js draw under a policy that allows no inline styles. It writes its colours into `<style>` elements, and
 * those of single letters into `style` attributes; here the first become style sheets of the document, and the second
 * are set as properties. Both are what the policy lets a script do.
 * @see https://github.com/xtermjs/xterm.js/blob/6.0.0/src/browser/renderer/dom/DomRenderer.ts
 */
export function keepStylesApart(): void {
  const create = document.createElement.bind(document)
  document.createElement = (tag: string, options?: ElementCreationOptions) => {
    if (tag === 'style') return styleStandIn(create('meta'))
    const element = create(tag, options)
    if (tag === 'span') element.setAttribute = setAttribute
    return element
  }
}

function styleStandIn(standIn: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets.push(sheet)
  Object.defineProperty(standIn, 'textContent', {
    set(css: string) {
      sheet.replaceSync(css)
    },
  })
  standIn.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet)
    HTMLElement.prototype.remove.call(standIn)
  }
  return standIn
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else HTMLElement.prototype.setAttribute.call(this, name, value)
}
