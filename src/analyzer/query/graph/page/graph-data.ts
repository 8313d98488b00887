/** The graph as the page gets it: classes and packages by their places in these lists. */
export interface GraphData {
  readonly packages: readonly string[]
  readonly classes: readonly (readonly [name: string, pack: number])[]
  /** Source, target and type of each edge, one after the other. */
  readonly edges: readonly number[]
  readonly types: readonly string[]
}
