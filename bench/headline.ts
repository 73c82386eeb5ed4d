import { availableParallelism, cpus } from 'node:os';

/** How the figures below it came about. */
export function headline(name: string): string {
  const date = new Date().toISOString().slice(0, 10);
  const processor = cpus()[0]?.model ?? 'of an unknown kind';
  return `\`npm run bench -- ${name}\`, ${date}, Node ${process.versions.node}, ${availableParallelism()} cores (${processor}).`;
}
