import { Agent, createServer } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { announce, listen } from './serve.ts';

/** `PORT` of the agent. What a Node project would reach for: http-proxy-middleware in Express, with connections kept. */
const app = express();
app.disable('x-powered-by');
app.use(
  createProxyMiddleware({ target: `http://127.0.0.1:${process.argv[2]}`, agent: new Agent({ keepAlive: true }) }),
);
announce(await listen(createServer(app)));
