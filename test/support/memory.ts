import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Whether this system tells what {@link peakMemory} asks of it. */
export const tellsPeakMemory = existsSync('/proc/self/status');

/** The most memory, in bytes, that a process has ever had resident: what it held for a moment counts, too. */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = /^VmHWM:\s+(\d+) kB$/mu.exec(status)?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status names no VmHWM; expected it on every Linux`);
  return Number(kib) * 1024;
}
