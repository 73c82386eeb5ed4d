import express, { type ErrorRequestHandler, type Express, type Router } from 'express';

/**
 * The admin listener's application: the given routers in order, then JSON for what none of them knows and for what went
 * wrong. Nothing of it is reachable through the proxy's port.
 *
 * @param onError told of an error that a router threw; the response says nothing of it.
 */
export function createAdminApp(routers: readonly Router[], onError: (error: unknown) => void): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  for (const router of routers) app.use(router);
  app.use((request, response) => {
    const message = `${request.method} ${request.path} is not served here`;
    response.status(404).json({ error: { code: 'not_found', message } });
  });
  const failed: ErrorRequestHandler = (error, _request, response, next) => {
    onError(error);
    if (response.headersSent) return next(error);
    response.status(500).json({ error: { code: 'internal', message: 'internal error; see the log' } });
  };
  app.use(failed);
  return app;
}
