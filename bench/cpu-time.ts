/** CPU time that this process has used so far, in µs, with its collector of garbage: what the work costs, not what it waits. */
function ownCpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** CPU time of one piece of work, in µs. */
export async function cpuUsOf(work: () => unknown): Promise<number> {
  const before = ownCpuUs();
  await work();
  return ownCpuUs() - before;
}
