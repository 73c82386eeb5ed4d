/** As it stands in a URL: an IPv6 address in brackets (RFC 3986 §3.2.2). */
export const hostAndPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;
