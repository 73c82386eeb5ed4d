import { Router } from 'express';
import type { Readiness } from './readiness.ts';

/**
 * `GET /livez` says that the event loop turns, `GET /readyz` whether traffic should come here: 200 when ready, 503 while
 * starting and while draining.
 */
export function probes(readiness: Readiness): Router {
  const router = Router();
  router.get('/livez', (_request, response) => {
    response.set('cache-control', 'no-store').json({ status: 'live' });
  });
  router.get('/readyz', (_request, response) => {
    const status = readiness.state;
    response.once('finish', () => readiness.told(status));
    response
      .set('cache-control', 'no-store')
      .status(status === 'ready' ? 200 : 503)
      .json({ status });
  });
  return router;
}
