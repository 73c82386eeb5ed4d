/** Why the sidecar answered in the agent's place. A closed list; see the table of statuses below. */
export type ProxyErrorCode = keyof typeof STATUS;

export const STATUS = {
  no_route: 404,
  upstream_unreachable: 502,
  upstream_reset: 502,
  upstream_timeout: 504,
} as const satisfies Record<string, number>;
