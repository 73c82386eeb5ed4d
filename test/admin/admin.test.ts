import { Router } from 'express';
import { describe, expect, it } from 'vitest';
import { createAdminApp } from '../../src/admin/app.ts';
import { startAdminListener } from '../../src/admin/listener.ts';
import { metricsRoute } from '../../src/admin/metrics-route.ts';
import { probes } from '../../src/admin/probes.ts';
import { createReadiness, type ReadinessState } from '../../src/admin/readiness.ts';
import { createPrometheus } from '../../src/telemetry/prometheus.ts';

const LOOPBACK = { port: 0, host: '127.0.0.1' };

async function startAdmin(options: { extra?: Router[] } = {}) {
  const readiness = createReadiness();
  const prometheus = createPrometheus({
    agents: [
      {
        name: 'harbour',
        tools: [],
        metrics: [{ name: 'agent_goal_accuracy', evaluatorVersion: 'v', judgeModel: 'j' }],
      },
    ],
    eventTypes: [],
    queue: () => ({ queued: 0, capacity: 1, inFlight: 0 }),
    spanQueueLength: () => 0,
    logLinesLost: () => 0,
    build: { version: '1.2.3', revision: 'abc' },
    onRefused: () => {},
  });
  const errors: unknown[] = [];
  const routers = [metricsRoute(prometheus), probes(readiness), ...(options.extra ?? [])];
  const listener = await startAdminListener(
    createAdminApp(routers, (error) => errors.push(error)),
    LOOPBACK,
  );
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${listener.port}${path}`, { headers });
  return { listener, readiness, errors, get, [Symbol.asyncDispose]: () => listener.stop() };
}

describe('GET /metrics', () => {
  it('answers in OpenMetrics when that is asked for, with the type that says so', async () => {
    await using admin = await startAdmin();
    const response = await admin.get('/metrics', { accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1' });
    expect(response.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    const body = await response.text();
    expect(body).toMatch(/# EOF\n$/);
    expect(body).toContain('# TYPE agui_eval_scores counter\n');
  });

  it('answers in the text format otherwise', async () => {
    await using admin = await startAdmin();
    const response = await admin.get('/metrics');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const body = await response.text();
    expect(body).toContain('# TYPE agui_eval_scores_total counter\nagui_eval_scores_total{agent="harbour"');
    expect(body).not.toContain('# EOF');
    expect(body).toContain('nodejs_eventloop_lag_seconds');
  });
});

describe('the probes', () => {
  it.each<[ReadinessState, number]>([
    ['starting', 503],
    ['ready', 200],
    ['draining', 503],
  ])('are live while %s, and ready by status %i', async (state, status) => {
    await using admin = await startAdmin();
    admin.readiness.become(state);
    const live = await admin.get('/livez');
    expect([live.status, await live.json()]).toEqual([200, { status: 'live' }]);
    const ready = await admin.get('/readyz');
    expect([ready.status, await ready.json()]).toEqual([status, { status: state }]);
  });

  it('follow the sidecar from starting to ready', async () => {
    await using admin = await startAdmin();
    expect((await admin.get('/readyz')).status).toBe(503);
    admin.readiness.become('ready');
    expect((await admin.get('/readyz')).status).toBe(200);
  });

  it('remember who asked for readiness, and tell when one was told that the sidecar drains', async () => {
    await using admin = await startAdmin();
    let isSeen = false;
    void admin.readiness.failureSeen.then(() => {
      isSeen = true;
    });
    await admin.get('/livez');
    expect(admin.readiness.isWatched).toBe(false);
    await admin.get('/readyz');
    admin.readiness.become('ready');
    await admin.get('/readyz');
    expect([admin.readiness.isWatched, isSeen]).toEqual([true, false]);
    admin.readiness.become('draining');
    await admin.get('/readyz');
    await admin.readiness.failureSeen;
  });
});

describe('everything else', () => {
  it.each(['/', '/nothing/here'])('is a JSON 404: %s', async (path) => {
    await using admin = await startAdmin();
    const response = await admin.get(path);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: { code: 'not_found', message: `GET ${path} is not served here` } });
    expect(response.headers.has('x-powered-by')).toBe(false);
  });

  it('can be added as a router, whose errors are told to the log and not to the client', async () => {
    const extra = Router();
    extra.get('/api/broken', () => {
      throw new Error('with a secret in it');
    });
    await using admin = await startAdmin({ extra: [extra] });
    const response = await admin.get('/api/broken');
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
    expect(admin.errors).toMatchObject([{ message: 'with a secret in it' }]);
  });
});

describe('the listener', () => {
  it('says which setting to change when its port is taken', async () => {
    await using admin = await startAdmin();
    const again = startAdminListener(
      createAdminApp([], () => {}),
      { ...LOOPBACK, port: admin.listener.port },
    );
    await expect(again).rejects.toThrow(/EADDRINUSE.*ADMIN_PORT/);
  });

  it('stops with connections open, and more than once', async () => {
    await using admin = await startAdmin();
    await admin.get('/livez');
    await admin.listener.stop();
    await admin.listener.stop();
    await expect(admin.get('/livez')).rejects.toThrow('fetch failed');
  });
});
