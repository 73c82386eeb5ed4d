/** Where a value was given. */
export type Origin =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly path: string; readonly line?: number }
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'set'; readonly key: string };

/** One thing that is wrong with a configuration. */
export interface Problem {
  /** Path of the setting, as in `agents[0].url`; empty for the configuration as a whole. */
  readonly setting: string;
  readonly origin: Origin;
  /** What was given, secrets masked; completes the sentence "given …". */
  readonly given: string;
  /** Completes the sentence "expected …". */
  readonly expected: string;
  /** What to do, as a sentence of its own. */
  readonly remedy?: string;
}

export type Report = (problem: Problem) => void;

/** `agui-sidecar.yaml:4`, `PORT`, `--set listen.port` or `default`. */
export function formatOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return 'default';
    case 'file':
      return origin.line === undefined ? origin.path : `${origin.path}:${origin.line}`;
    case 'env':
      return origin.name;
    case 'set':
      return `--set ${origin.key}`;
  }
}

/** All problems as text for a terminal: a headline, then one line each. */
export function formatProblems(problems: readonly Problem[]): string {
  const headline = `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:`;
  return [headline, ...problems.map((problem) => `  ${formatProblem(problem)}`), ''].join('\n');
}

function formatProblem({ setting, origin, given, expected, remedy }: Problem): string {
  // What was given nowhere has no place to point to but its own name.
  const where = origin.kind === 'default' ? '' : `${formatOrigin(origin)}: `;
  const what = setting === '' ? '' : `${setting}: `;
  return `${where}${what}given ${given}, expected ${expected}.${remedy === undefined ? '' : ` ${remedy}`}`;
}
