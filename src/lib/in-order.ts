/** Does one thing after the other, in the order in which they were given; at once what has nothing in front of it. */
type InOrder = <Result>(work: () => Result | Promise<Result>) => Result | Promise<Result>;

/** Work that fails does so for whoever gave it; what comes after it is done all the same. */
export function createInOrder(): InOrder {
  /** The last of what is under way or waits; absent when nothing is. */
  let last: Promise<unknown> | undefined;
  return (work) => {
    const result = last ? last.then(work, work) : work();
    if (!(result instanceof Promise)) return result;
    last = result;
    const leave = (): void => {
      if (last === result) last = undefined;
    };
    result.then(leave, leave);
    return result;
  };
}
