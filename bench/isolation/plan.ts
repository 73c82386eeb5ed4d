/** What goes on beside the streams that are measured. */
export type Disturbance = 'conversations' | 'poison' | 'flood';

/** How a judge or a collector is. */
export type Health = 'well' | 'silent' | 'endless' | 'garbage';

/** Where the process that makes trouble listens. */
export interface TroubleServers {
  readonly agent: string;
  readonly judges: Readonly<Record<Health, string>>;
  readonly collectors: Readonly<Record<Health, string>>;
}

/** What the runner asks of it. */
export type TroubleRequest =
  /** Sends so many conversations, and answers when all are through. */
  | { readonly kind: 'fill'; readonly port: number; readonly count: number }
  /** Disturbs the proxy on this port until `end`. */
  | { readonly kind: 'begin'; readonly disturbance: Disturbance; readonly port: number }
  | { readonly kind: 'end' };

export type TroubleReply =
  /** `bytes`: of answers since `begin`, each compared with what was sent. */
  { readonly kind: 'done'; readonly bytes: number } | { readonly kind: 'failed'; readonly message: string };
