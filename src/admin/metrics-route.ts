import { Router } from 'express';
import type { Prometheus } from '../telemetry/prometheus.ts';

/** `GET /metrics`: OpenMetrics for scrapers that ask for it, the older text format for all others. */
export function metricsRoute(prometheus: Pick<Prometheus, 'exposition'>): Router {
  const router = Router();
  router.get('/metrics', async (request, response) => {
    const { contentType, body } = await prometheus.exposition(request.get('accept') ?? '');
    // Written past Express, which would reorder the type's parameters: Prometheus matches it closely.
    response.writeHead(200, { 'content-type': contentType, vary: 'accept' }).end(body);
  });
  return router;
}
