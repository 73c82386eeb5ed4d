/** Grants or refuses memory, and takes it back. */
export interface MemoryGrant {
  reserve(bytes: number): boolean;
  release(bytes: number): void;
}
