/** What a benchmark found. */
export interface Found {
  /** In Markdown, for the page of figures. */
  readonly text: string;
  /** What must not be, such as growth out of proportion; the command then ends with status 1. */
  readonly faults: readonly string[];
}
