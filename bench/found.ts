/** What a benchmark found. */
export interface Found {
  /** In Markdown, for the page of figures. */
  readonly text: string;
  /** What must not be, such as growth out of proportion; the command then ends with status 1, and the page stays as it is. */
  readonly faults: readonly string[];
  /** Targets that the figures show to be missed; the command ends with status 1, and the page says so. */
  readonly missed?: readonly string[];
}
