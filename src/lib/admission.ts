/** How much work may be under way at once, as of now. */
export interface Admission {
  /** 0: none for now. `Infinity`: as much as the caller likes. */
  readonly limit: number;
  /** With a limit of 0: when to ask again, in epoch milliseconds. Absent: when something under way has ended. */
  readonly askAgainAt?: number;
}
