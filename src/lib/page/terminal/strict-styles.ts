/**
 * Makes xterm.js work under a content security policy without inline styles. It writes its colors into `<style>` elements and
 * into `style` attributes of single characters. This turns the former into style sheets of the document and the latter into
 * style properties, both of which the policy allows.
 * @see https://github.com/xtermjs/xterm.js/blob/6.0.0/src/browser/renderer/dom/DomRenderer.ts
 */
export function allowXtermStyles(): void {
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
