import { Router } from 'express';

/** `ready`: the configuration is loaded and the proxy listens. Judge, collector and agent have no say in it. */
export type Readiness = 'starting' | 'ready' | 'draining';

/**
 * `GET /livez` says that the event loop turns, `GET /readyz` whether traffic should come here: 200 when ready, 503 while
 * starting and while draining.
 */
export function probes(readiness: () => Readiness): Router {
  const router = Router();
  router.get('/livez', (_request, response) => {
    response.set('cache-control', 'no-store').json({ status: 'live' });
  });
  router.get('/readyz', (_request, response) => {
    const status = readiness();
    response
      .set('cache-control', 'no-store')
      .status(status === 'ready' ? 200 : 503)
      .json({ status });
  });
  return router;
}
